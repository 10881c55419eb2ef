#!/usr/bin/env bash
# Makes requirements.lock from pyproject.toml: every package with every dependency, exact versions, hashes of all files.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/uv"
"$scratch/uv/bin/pip" install --quiet uv
"$scratch/uv/bin/uv" pip compile pyproject.toml --extra dask --extra dev --universal --python-version 3.11 --generate-hashes \
    --no-header --no-annotate --quiet --output-file "$scratch/lock"
{
    echo "# Every Python package that pullnet uses, with the hashes of its files. Made from pyproject.toml by tools/lock.sh."
    cat "$scratch/lock"
} >requirements.lock
