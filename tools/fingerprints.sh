#!/usr/bin/env bash
# Random scenarios for every pair of a protocol and a discipline: tools/fingerprints.sh [SCENARIOS], 200 of each pair unless stated.
#
# A scenario has one fingerprint with 1, 2 and 4 threads, with probes and without them; and the same one in a debug and in a
# release build, which this compares.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "fingerprints: $*" >&2; exit 1; }

scenarios=${1:-200}
[[ $scenarios =~ ^[1-9][0-9]*$ ]] || fail "\"$scenarios\" is no number of scenarios; state 1 or more"

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

# build NAME [OPTION]: runs the scenarios in a build, and leaves the fingerprints of each pair in a line of $folder/NAME.
build() {
    PROPTEST_CASES=$scenarios FINGERPRINTS="$folder/$1" \
        cargo test --quiet -p pullnet-sim --test engine "${@:2}" every_pair_keeps_every_promise
}

build debug
build release --release
diff "$folder/debug" "$folder/release" || fail "debug and release builds differ in the pairs above"
echo "fingerprints: $(wc -l <"$folder/debug") pairs, $scenarios scenarios of each, are equal in both builds"
