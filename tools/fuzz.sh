#!/usr/bin/env bash
# Runs every fuzz target for SECONDS seconds (60 unless stated), two at a time: fuzz.sh [SECONDS [TARGET...]].
#
# Inputs that were found to lead to new code are kept in fuzz/corpus, the inputs of faults in fuzz/artifacts. To see a
# fault again: run the target's program, whose path is printed, with the input as its argument.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -eq 0 ] || shift

fail() { echo "fuzz: $*" >&2; exit 1; }
command -v c++ >/dev/null || fail "needs a C++ compiler for libFuzzer: the command c++ was not found (on Debian: apt-get install g++)"

# Sanitizers and coverage are behind an unstable option. The pinned stable compiler takes it as well as a nightly one
# when told so, and then CI and every machine fuzz what the compiler of the project makes.
export RUSTC_BOOTSTRAP=1
cargo_fuzz=$(tools/cargo-tool.sh cargo-fuzz 0.13.2)
PATH=$(dirname "$cargo_fuzz"):$PATH

# The crates are safe Rust but for one prefetch, so that a memory sanitizer would only cost speed; overflow checks and
# debug assertions are on.
cargo fuzz build --sanitizer none
bin=${CARGO_TARGET_DIR:-$PWD/fuzz/target}/$(rustc -vV | sed -n 's/^host: //p')/release
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(sed -n 's/^path = "fuzz_targets\/\(.*\)\.rs"$/\1/p' fuzz/Cargo.toml)

# An input that takes ten minutes never ends; one that takes half a minute may have waited for the machine.
run_one() {
    local target=$1 log
    log=$(mktemp)
    mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
    if "$bin/$target" -max_total_time="$seconds" -timeout=600 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="fuzz/artifacts/$target/" "fuzz/corpus/$target" "fuzz/seeds/$target" >"$log" 2>&1; then
        echo "fuzz: $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no fault"
    else
        cat "$log"
        echo "fuzz: $target: FAULT; again with: $bin/$target fuzz/artifacts/$target/..."
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}
export -f run_one
export bin seconds

printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P 2 bash -c 'run_one "$1"' fuzz
