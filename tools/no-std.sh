#!/usr/bin/env bash
# Builds and runs a program without std from every crate that claims to do without; see tools/no-std-check/src/main.rs.
set -euo pipefail
cd "$(dirname "$0")/no-std-check"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../../target/no-std}
cargo build --quiet --release --locked
"$CARGO_TARGET_DIR/release/no-std-check"
