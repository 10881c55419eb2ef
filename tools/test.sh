#!/usr/bin/env bash
# The checks that a developer needs before a commit: format and types, unit tests, properties, vectors, and the command from
# end to end; tools/test_long.sh has the rest. Builds once: Python's core and the tests share their libraries.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYO3_PYTHON="$PWD/.venv/bin/python"
source tools/packages.sh

step() { echo "test: $*" && "$@"; }

rust=(cargo test --quiet "${others[@]}" --tests)

log=$(mktemp)
trap 'rm -f "$log"; kill $(jobs -p) 2>/dev/null || true' EXIT
# Ends with the output of a step in the background that has failed.
finished() { wait "$1" || { cat "$log" && exit 1; }; }

# Fetching and installing packages takes one core at most: the other one compiles.
step tools/setup.sh environment
step cargo build --quiet -p pullnet-py >"$log" 2>&1 &
building=$!
step tools/setup.sh packages
step tools/lint.sh text
finished "$building"
step tools/setup.sh any

# Python's tests run one after the other, mostly on one core; Rust's are built and run on the other one.
{ step "${rust[@]}" --no-run && step "${rust[@]}" -- "${slow[@]/#/--skip=}"; } >"$log" 2>&1 &
running=$!
failed=0
{ step tools/lint.sh types && step .venv/bin/pytest -m "not long"; } || failed=1
finished "$running"
cat "$log"
exit "$failed"
