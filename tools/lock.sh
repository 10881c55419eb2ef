#!/usr/bin/env bash
# Makes requirements.lock from pyproject.toml, and tools/site/requirements.lock from the file beside it: every package with
# every dependency, exact versions, hashes of all files.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# lock TARGET HEAD SOURCE [OPTIONS]
lock() {
    local target=$1 head=$2
    shift 2
    "$scratch/uv/bin/uv" pip compile "$@" --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --quiet --output-file "$scratch/lock"
    { echo "# $head" && cat "$scratch/lock"; } >"$target"
    rm "$scratch/lock" # uv would keep the versions of the file that is there
}

python3 -m venv "$scratch/uv"
"$scratch/uv/bin/pip" install --quiet uv
lock requirements.lock \
    "Every Python package that pullnet uses, with the hashes of its files. Made from pyproject.toml by tools/lock.sh." \
    pyproject.toml --extra dask --extra dev
lock tools/site/requirements.lock \
    "Packages that make the documentation site, with the hashes of their files. Made from requirements.in by tools/lock.sh." \
    tools/site/requirements.in
