#!/usr/bin/env bash
# Random scenarios for every pair of a protocol and a discipline: tools/fingerprints.sh [SCENARIOS], 200 of each pair unless stated.
#
# A scenario has one fingerprint with 1, 2 and 4 threads, with probes and without them; and the same one in a debug and in a
# release build, which this compares. 200 of each pair take hours: a run that was broken off goes on where it stopped, as
# long as no source has changed, with what it left in target/fingerprints.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "fingerprints: $*" >&2; exit 1; }

scenarios=${1:-200}
[[ $scenarios =~ ^[1-9][0-9]*$ ]] || fail "\"$scenarios\" is no number of scenarios; state 1 or more"

sources=(Cargo.lock Cargo.toml crates)
changed=$(git status --porcelain --untracked-files=all -- "${sources[@]}")
[[ -z $changed ]] || fail "files under ${sources[*]} differ from the commit; commit them or put them aside:"$'\n'"$changed"
folder=target/fingerprints/$scenarios-$(git rev-parse "${sources[@]/#/HEAD:}" | sha256sum | cut -c 1-16)
mkdir -p "$folder"
exec 9>"$folder/lock"
flock -n 9 || fail "another run is at work in $folder"

# build NAME [OPTION]: runs the scenarios in a build, and leaves the fingerprints of each pair in a line of $folder/NAME.
build() {
    local kept=$PWD/$folder/$1
    touch "$kept"
    [[ -s $kept ]] && echo "fingerprints: $(wc -l <"$kept") pairs have run before in the $1 build" >&2
    # A line that was broken off while it was written has no end.
    [[ -z $(tail -c 1 "$kept") ]] || sed -i '$d' "$kept"
    PROPTEST_CASES=$scenarios FINGERPRINTS=$kept \
        cargo test --quiet -p pullnet-sim --test engine "${@:2}" every_pair_keeps_every_promise
}

build debug
build release --release
diff <(sort "$folder/debug") <(sort "$folder/release") || fail "debug and release builds differ in the pairs above"
echo "fingerprints: $(wc -l <"$folder/debug") pairs, $scenarios scenarios of each, are equal in both builds"
