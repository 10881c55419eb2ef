#!/usr/bin/env bash
# Everything that must hold, cheapest first. tools/setup.sh has to have run.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYO3_PYTHON="$PWD/.venv/bin/python"

step() { echo "test: $*" && "$@"; }

step cargo fmt --all --check
step .venv/bin/ruff format --check --quiet python tools
step .venv/bin/ruff check --quiet python tools
step .venv/bin/mypy --no-error-summary
step .venv/bin/python -m mypy.stubtest --concise pullnet._core
step cargo clippy --quiet --workspace --all-targets -- -D warnings
step cargo test --quiet --workspace
step .venv/bin/python tools/results_doc.py --check
step .venv/bin/pytest
