#!/usr/bin/env bash
# Prints the path of a tool from crates.io, at a stated version: cargo-tool.sh NAME VERSION [cargo install options].
# Builds it in .cache/tools the first time, hardly optimised: it runs for seconds, and optimising it would take minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1 version=$2
shift 2
tool=$PWD/.cache/tools/bin/$name

# Cargo notes an installation as a line `"NAME VERSION (registry...)" = [...]`.
if ! grep -qs "^\"$name $version " .cache/tools/.crates.toml || [ ! -x "$tool" ]; then
    echo "building $name $version, once" >&2
    CARGO_TARGET_DIR=$PWD/.cache/tools-build CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false \
        cargo install "$name" --version "=$version" --locked --quiet --debug --root .cache/tools "$@" >&2
    rm -rf .cache/tools-build
fi
echo "$tool"
