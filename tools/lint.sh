#!/usr/bin/env bash
# Everything that can be said of the sources without running them, cheapest first: tools/lint.sh [text | types | compiled]...
# tools/setup.sh has to have run; `text` needs only the packages.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYO3_PYTHON="$PWD/.venv/bin/python"

step() { echo "lint: $*" && "$@"; }

# Licences, bans and sources of all dependencies; not advisories, whose database lies on a git server that a machine
# without such access cannot reach.
deny() {
    local cargo_deny manifest
    cargo_deny=$(tools/cargo-tool.sh cargo-deny 0.20.2 --no-default-features)
    for manifest in Cargo.toml fuzz/Cargo.toml tools/no-std-check/Cargo.toml; do
        "$cargo_deny" --log-level error --config "$PWD/deny.toml" --manifest-path "$manifest" check bans licenses sources
    done
}

text() {
    step cargo fmt --all --check
    step cargo fmt --manifest-path fuzz/Cargo.toml --check
    step cargo fmt --manifest-path tools/no-std-check/Cargo.toml --check
    step .venv/bin/ruff format --check --quiet python tools
    step .venv/bin/ruff check --quiet python tools
    step .venv/bin/python tools/prose.py --max 2
    step .venv/bin/python tools/lengths.py
}

# Types, and whether the stubs and docs/results.md agree with the core.
types() {
    step .venv/bin/mypy --no-error-summary
    step .venv/bin/python -m mypy.stubtest --concise pullnet._core
    step .venv/bin/python tools/results_doc.py --check
}

compiled() {
    step cargo clippy --quiet --workspace --all-targets -- -D warnings
    step cargo clippy --quiet -p pullnet-host --features tokio --all-targets -- -D warnings
    if pkg-config --exists 'libdpdk >= 22.11' 2>/dev/null; then
        step cargo clippy --quiet -p pullnet-netio -p pullnet-daemon -p pullnet-switch --features dpdk --all-targets -- -D warnings
    fi
    step tools/no-std.sh
    step deny
}

[ $# -gt 0 ] || set -- text types compiled
for part in "$@"; do
    case "$part" in
        text | types | compiled) "$part" ;;
        *) echo "lint: there is no part $part: use text, types or compiled" >&2 && exit 2 ;;
    esac
done
