"""Measures every transport and kind of load beside the NDP permutation and writes their table in docs/performance.md.

Each row is a fresh process of the released program on the same 432 hosts; rows take turns, so that a slow minute of the
machine meets all of them, and the best of several rounds counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pages import PERFORMANCE, put
from performance import program

FABRIC = 'kind = "fat-tree"\nk = 12\nlink = { rate = "10 Gbps", delay = "1 us" }'
PERMUTATION = 'kind = "permutation"\nsize = "endless"'
NDP = 'kind = "ndp"\nmtu = "9000 B"\ninitial_window = "30 packets"'
TRIM = 'kind = "trim"'
# Timers for a network of microseconds; those of RFC 6298 would only make flows wait.
TIMERS = 'mtu = "9000 B"\nmin_rto = "1 ms"\ninitial_rto = "3 ms"\nrto_granularity = "100 us"\nack_delay = "500 us"'
SUBFLOWS = 'mtu = "9000 B"\nmin_rto = "1 ms"\ninitial_rto = "3 ms"\nrto_granularity = "100 us"\nsubflows = 8'
DROP_TAIL = 'kind = "drop-tail"\nqueue = "200 packets"'
MARKING = f'{DROP_TAIL}\nmark_above = "30 packets"'
PAUSING = 'kind = "pfc"\nbuffer = "4 MB"\nheadroom = "100 kB"'
PRIORITY = 'kind = "priority"\nqueue = "100 packets"'


@dataclass(frozen=True)
class Load:
    """A transport, a switch, and what hosts send."""

    name: str
    transport: str
    switch: str
    traffic: str = PERMUTATION
    end: str = 'duration = "3 ms"'

    def scenario(self) -> str:
        """The text of the scenario."""
        return (
            f"seed = 1\n{self.end}\n[topology]\n{FABRIC}\n[transport]\n{self.transport}\n"
            f"[switch]\n{self.switch}\n[[traffic]]\n{self.traffic}\n"
        )


TO_COMPLETION = 'until = "all flows done"\nlimit = "1 s"'
LOADS = [
    Load("NDP, permutation", NDP, TRIM),
    Load("NDP, 100 flows per host", NDP, TRIM, 'kind = "random"\nflows_per_host = 100\nsize = "endless"'),
    Load(
        "NDP, short flows to completion",
        NDP,
        TRIM,
        'kind = "poisson"\nload = 0.5\nflows = 40000\nsizes.distribution = "imc10"',
        TO_COMPLETION,
    ),
    Load(
        "NDP, closed loop",
        NDP,
        TRIM,
        'kind = "closed-loop"\nconnections_per_host = 5\nsizes.distribution = "web-search"',
    ),
    Load("NDP over drop-tail, 200 packets", NDP, DROP_TAIL),
    Load("NDP over a shared buffer", NDP, 'kind = "shared-buffer"\npool = "2 MB"'),
    Load("TCP over drop-tail, 200 packets", f'kind = "tcp"\n{TIMERS}', DROP_TAIL),
    Load("TCP over RED", f'kind = "tcp"\n{TIMERS}', 'kind = "red"'),
    Load("DCTCP over marking switches", f'kind = "dctcp"\n{TIMERS}', MARKING),
    Load("MPTCP, 8 subflows, over drop-tail", f'kind = "mptcp"\n{SUBFLOWS}', DROP_TAIL),
    Load("MDTCP, 8 subflows, over marking switches", f'kind = "mdtcp"\n{SUBFLOWS}', MARKING),
    Load(
        "go-back-N over PFC",
        'kind = "go-back-n"\nmtu = "9000 B"\nwindow = "30 packets"\ntimeout = "50 ms"',
        PAUSING,
    ),
    Load(
        "DCQCN over PFC",
        'kind = "dcqcn"\nmtu = "9000 B"',
        f'{PAUSING}\nmark_low = "5 kB"\nmark_high = "200 kB"\nmark_probability = 0.01',
    ),
    Load("TIMELY over PFC", 'kind = "timely"\nmtu = "9000 B"', PAUSING),
    Load("D2TCP over marking switches", f'kind = "d2tcp"\n{TIMERS}', MARKING),
    Load("D3", 'kind = "d3"\nmtu = "8940 B"', 'kind = "d3"'),
    Load("PDQ", 'kind = "pdq"\nmtu = "8944 B"', 'kind = "pdq"'),
    Load("Fastpass over strict priority", 'kind = "fastpass"\nmtu = "9000 B"', PRIORITY),
    Load("pHost over strict priority", 'kind = "phost"\nmtu = "9000 B"', PRIORITY),
    Load("pFabric", 'kind = "pfabric"\nmtu = "9000 B"', 'kind = "pfabric"\nqueue = "100 packets"'),
    Load("Homa over strict priority", 'kind = "homa"\nmtu = "9000 B"', PRIORITY),
    Load("SCDP", 'kind = "scdp"', 'kind = "scdp"'),
]


def run(load: Load, folder: Path) -> float:
    """Packet-hops per CPU-second of one run."""
    scenario = folder / "load.toml"
    scenario.write_text(load.scenario(), encoding="utf-8")
    command = [program(), "run", str(scenario), "--json", "--quiet", "--force", "--out", str(folder / "result")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{load.name}:\n{load.scenario()}\n{done.stderr}")
    return float(json.loads(done.stdout)[0]["cost"]["packet_hops_per_cpu_s"])


def table(rounds: int, chosen: list[Load]) -> str:
    """The whole table."""
    best = dict.fromkeys(chosen, 0.0)
    for number in range(rounds):
        for load in chosen:
            with tempfile.TemporaryDirectory() as folder:
                speed = run(load, Path(folder))
            best[load] = max(best[load], speed)
            print(f"round {number + 1}: {load.name}: {speed / 1e6:.2f} M", file=sys.stderr, flush=True)
    full = best[chosen[0]]
    lines = ["| load | packet-hops per CPU-second | of the first row |", "|---|--:|--:|"]
    lines += [f"| {load.name} | {speed / 1e6:.2f} M | {speed / full:.2f} |" for load, speed in best.items()]
    return "\n".join(lines)


def main() -> None:
    """Measures, prints, and with --write changes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds over all rows; the best of each row counts")
    parser.add_argument("--only", default="", help="rows whose name has this text, beside the first")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    chosen = [LOADS[0], *(load for load in LOADS[1:] if options.only.lower() in load.name.lower())]
    made = table(options.rounds, chosen)
    print(made)
    if options.write:
        put(PERFORMANCE, "load_performance", made)


if __name__ == "__main__":
    main()
