#!/usr/bin/env bash
# Everything that must hold, cheapest first. tools/setup.sh has to have run.
#
# Every fuzz target runs for FUZZ_SECONDS: a minute each where CI is set, otherwise five seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYO3_PYTHON="$PWD/.venv/bin/python"
fuzz_seconds=${FUZZ_SECONDS:-$([ -n "${CI:-}" ] && echo 60 || echo 5)}

step() { echo "test: $*" && "$@"; }

step tools/lint.sh
step cargo test --quiet --workspace
step cargo test --quiet -p pullnet-host --features tokio --test tokio
step .venv/bin/python tools/results_doc.py --check
step .venv/bin/pytest
step tools/fuzz.sh "$fuzz_seconds"
