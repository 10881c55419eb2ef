#!/usr/bin/env bash
# Everything that tools/test.sh leaves out: tools/test_long.sh [lint | rust | python | papers | site | hardware | fuzz]...
#
# All of it unless steps are named. Every fuzz target runs for FUZZ_SECONDS, 20 unless set; `tools/fuzz.sh` without a number
# runs each for a minute. Python's tests run with the core that `make setup` builds.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYO3_PYTHON="$PWD/.venv/bin/python"

step() { echo "test: $*" && "$@"; }

# All tests of Rust with their examples, those of the short form again: their programs are built already.
rust() {
    step cargo test --quiet --workspace --exclude pullnet-bench
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
    step .venv/bin/python tools/results_doc.py --check
    step .venv/bin/pytest -m long --numprocesses 2 --dist loadgroup
}

# A few short runs of every paper; a command that fails, fails here, and verdicts are the papers' affair.
papers() {
    local out
    out=$(mktemp -d)
    step .venv/bin/pullnet reproduce --smoke --jobs 2 --out "$out"
    rm -r "$out"
}

# The documentation site, with its links checked.
site() { step tools/site/build.sh; }

run() {
    case "$1" in
        lint) step tools/lint.sh ;;
        rust | python | papers | site) "$1" ;;
        hardware) step tools/hardware.sh quick ;;
        fuzz) step tools/fuzz.sh "${FUZZ_SECONDS:-20}" ;;
        *) echo "test_long: there is no step $1: use lint, rust, python, papers, site, hardware or fuzz" >&2 && exit 2 ;;
    esac
}

[ $# -gt 0 ] || set -- lint rust python papers site hardware fuzz
for name in "$@"; do run "$name"; done
