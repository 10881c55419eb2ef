#!/usr/bin/env bash
# Generates crates/linux/capi/include/pullnet.h from the code. Its last line is a hash of what it was made from, by which a test
# tells whether it is stale.
set -euo pipefail
cd "$(dirname "$0")/.."
cbindgen=$(tools/cargo-tool.sh cbindgen 0.29.4)
cd crates/linux/capi
"$cbindgen" --quiet --config cbindgen.toml --crate pullnet-capi --output include/pullnet.h .
echo "/* made from $(cat cbindgen.toml src/abi.rs src/failure.rs | sha256sum | cut -c 1-64) */" >>include/pullnet.h
