#!/usr/bin/env bash
# The checks that a developer needs before a commit: format and types, unit tests, properties, vectors, and the command from end to
# end; tools/test_long.sh has the rest. Builds once: Python's core and the tests share their libraries.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYO3_PYTHON="$PWD/.venv/bin/python"

step() { echo "test: $*" && "$@"; }

step tools/setup.sh any
step tools/lint.sh quick
# Left out: hosts and switches with real frames, the model of the hardware, and benchmarks (`make test-frames`). The
# fingerprints of all scenarios take a minute alone.
step cargo test --quiet --workspace --tests \
    --exclude=pullnet-{bench,capi,daemon,hardware,host,netio,soak,switch,testbed} -- \
    --skip examples_keep_their_fingerprints
step .venv/bin/pytest -m "not long"
