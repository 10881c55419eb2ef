#!/usr/bin/env bash
# Everything that tools/test.sh leaves out: tools/test_long.sh [lint | rust | python | papers | site | hardware | fuzz]...
#
# All of it unless steps are named. Every fuzz target runs for FUZZ_SECONDS, 10 unless set; `tools/fuzz.sh` without a number
# runs each for a minute. Python's tests run with the fast core, which is built where it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYO3_PYTHON="$PWD/.venv/bin/python"
source tools/packages.sh

step() { echo "test: $*" && "$@"; }

# The fast core. Optimising it takes one processor for minutes: beside `lint` and `rust` it takes no time of its own.
core() { step tools/setup.sh; }

# What is said of the sources by compiling them; tools/test.sh has looked at texts and types.
lint() { step tools/lint.sh compiled; }

# Hosts and switches with real frames, the model of the hardware, the slow tests of the others, and examples in comments.
rust() {
    step cargo test --quiet "${frames[@]}"
    step cargo test --quiet "${others[@]}" --tests -- "${slow[@]}"
    step cargo test --quiet "${others[@]}" --doc
    step cargo test --quiet -p pullnet-host --features tokio --test tokio
    # The Go package needs a compiler for Go, of 250 MB: it is tested where there is one.
    if command -v go >/dev/null; then
        step tools/go.sh
    else
        echo "test: the package for Go is left out: go is not installed"
    fi
    # DPDK is large, and tested where it is installed: Debian's libdpdk-dev takes 33 MB to load and 165 MB on disk.
    if pkg-config --exists 'libdpdk >= 22.11' 2>/dev/null; then
        step cargo test --quiet -p pullnet-netio -p pullnet-switch -p pullnet-daemon --features dpdk --test dpdk --test veth --test config
    else
        echo "test: DPDK is left out: libdpdk 22.11 is not installed"
    fi
}

python() {
    step .venv/bin/pytest -m long --numprocesses 2 --dist loadgroup --durations 12
}

# A few short runs of every paper; a command that fails, fails here, and verdicts are the papers' affair.
papers() {
    local out
    out=$(mktemp -d)
    step .venv/bin/pullnet reproduce --all --smoke --jobs 2 --out "$out"
    rm -r "$out"
}

# The documentation site, with its links checked.
site() { step tools/site/build.sh; }

hardware() { step tools/hardware.sh quick; }
fuzz() { step tools/fuzz.sh "${FUZZ_SECONDS:-10}"; }

# Ends with the output of a step in the background that has failed.
finished() { wait "$1" || { cat "$log" && exit 1; }; }

all() {
    log=$(mktemp)
    trap 'rm -f "$log"; kill $(jobs -p) 2>/dev/null || true' EXIT
    tools/setup.sh packages
    core >"$log" 2>&1 &
    local building=$!
    lint
    rust
    finished "$building"
    for name in python papers site hardware fuzz; do "$name"; done
}

[ $# -gt 0 ] || all
for name in "$@"; do
    case "$name" in
        lint | rust | hardware | fuzz) "$name" ;;
        python | papers | site) core && "$name" ;;
        *) echo "test_long: there is no step $name: use lint, rust, python, papers, site, hardware or fuzz" >&2 && exit 2 ;;
    esac
done
