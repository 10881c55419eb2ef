#!/usr/bin/env bash
# Everything that must hold, cheapest first. tools/setup.sh has to have run.
#
# Every fuzz target runs for FUZZ_SECONDS: twenty seconds each where CI is set, otherwise five. `tools/fuzz.sh` without a
# number runs each for a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYO3_PYTHON="$PWD/.venv/bin/python"
fuzz_seconds=${FUZZ_SECONDS:-$([ -n "${CI:-}" ] && echo 20 || echo 5)}

step() { echo "test: $*" && "$@"; }

step tools/lint.sh
step cargo test --quiet --workspace
step cargo test --quiet -p pullnet-host --features tokio --test tokio
# DPDK is large, and tested where it is installed: Debian's libdpdk-dev takes 33 MB to load and 165 MB on disk.
if pkg-config --exists 'libdpdk >= 22.11' 2>/dev/null; then
    step cargo test --quiet -p pullnet-netio --features dpdk --test dpdk
else
    echo "test: packet I/O by DPDK is left out: libdpdk 22.11 is not installed"
fi
step tools/hardware.sh quick
step .venv/bin/python tools/results_doc.py --check
step .venv/bin/pytest
step tools/site/build.sh
step tools/fuzz.sh "$fuzz_seconds"
