#!/usr/bin/env bash
# Judges and tests the Go package with a live daemon: tools/go.sh. PROFILE=release takes fast programs.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in go gofmt cargo cc; do
    command -v "$tool" >/dev/null || { echo "go: needs $tool" >&2 && exit 1; }
done
profile=${PROFILE:-dev}
[ "$profile" = release ] && built=$PWD/target/release || built=$PWD/target/debug
cargo build --quiet --profile "$profile" -p pullnet-daemon -p pullnet-capi

library=$(mktemp -d)
trap 'rm -rf "$library"' EXIT
ln -s "$built/libpullnet.so" "$library/libpullnet.so"
ln -s libpullnet.so "$library/libpullnet.so.0"
export CGO_CFLAGS="-I$PWD/crates/linux/capi/include" CGO_LDFLAGS="-L$library" LD_LIBRARY_PATH="$library"
export PULLNETD="$built/pullnetd" GOTOOLCHAIN=local

cd go/pullnet
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "go: gofmt would change $unformatted" >&2 && exit 1; }
go vet ./...
go test -count=1 ./...
