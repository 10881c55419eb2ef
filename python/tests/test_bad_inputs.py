"""Wrong inputs of every command and of the Python API: exit code 2, and an error with place, value and remedy.

Each row is a command and the words that its error has to contain. The commands run in this process, in a folder with
the files of `FILES`; none may read without end, print a traceback or blame itself (exit code 1).
"""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import pullnet
from pullnet import codes, traffic
from pullnet.cli import status
from pullnet.errors import InputError

from .conftest import SMALL

STAR = 'kind = "star"\nhosts = 4'


def scenario(topology: str = STAR, block: str = 'kind = "incast"\nsize = "9 kB"', more: str = "") -> str:
    """A scenario around a table under test."""
    parts = [
        'until = "all flows done"',
        "[topology]",
        topology,
        "[transport]",
        'kind = "ndp"',
        "[switch]",
        'kind = "trim"',
    ]
    return "\n".join([*parts, "[[traffic]]", block, more, ""])


def from_file(name: str) -> str:
    return scenario(topology=f'kind = "file"\nfile = "{name}"')


def traffic_of(kind: str, name: str, more: str = "") -> str:
    return scenario(block=f'kind = "{kind}"\nfile = "{name}"\n{more}')


def sizes_of(name: str) -> str:
    return scenario(block=f'kind = "poisson"\nload = 0.5\nflows = 9\nsizes = {{ file = "{name}", read = "steps" }}')


def hops_of(value: str) -> str:
    return scenario(more=f"[probes]\nhops = {value}")


VL2 = 'kind = "vl2"\nda = 4\ndi = 4\nhosts_per_tor = 2'
JELLYFISH = 'kind = "jellyfish"\nswitches = 10\nports = 4\ndegree = 3'
JUPITER = "\n".join(
    [
        'kind = "jupiter"',
        "blocks = 2",
        "tors_per_block = 2",
        "middle_blocks = 2",
        "hosts_per_tor = 2",
        "spine_blocks = 2",
    ]
)
PLANES = 'kind = "planes"\nplanes = 2\nleaves = 2\nspines = 2\nhosts_per_leaf = 2'
NET = '[[switch]]\nname = "s"\n[[host]]\nname = "a"\n[[host]]\nname = "b"\n'

FILES: dict[str, str | bytes] = {
    "small.toml": SMALL,
    "empty.toml": "",
    "star.toml": scenario(topology=f'{STAR}\nlink = {{ rate = "10 Gbps", delay = "1 us" }}'),
    "nul.toml": b'name = "a\0b"\n',
    "latin.toml": b'name = "caf\xe9"\n',
    "twice.toml": SMALL.replace("seed = 3", "seed = 3\nseed = 4"),
    "unclosed.toml": 'name = "x',
    "array.toml": SMALL.replace("[topology]", "[[topology]]"),
    "unitless.toml": SMALL.replace('"10 Gbps"', "10"),
    "negative.toml": SMALL.replace('"1 us"', '"-1 us"'),
    "nan.toml": scenario(block='kind = "poisson"\nload = nan\nsizes = { fixed = "9 kB" }'),
    "both.toml": SMALL.replace('limit = "100 ms"', 'limit = "100 ms"\nduration = "1 ms"'),
    "odd.toml": SMALL.replace("k = 4", "k = 5"),
    "host.toml": SMALL.replace("to = 0", "to = 99"),
    "fault.toml": SMALL + '[[fault]]\nplace = "link core 99 - agg 0"\ndown = true\n',
    "fault-time.toml": SMALL + '[[fault]]\nplace = "all links"\ndown = true\nfrom = "2 ms"\nuntil = "1 ms"\n',
    "fault-nothing.toml": SMALL + '[[fault]]\nplace = "all links"\n',
    "probe.toml": SMALL.replace('interval = "10 us"', 'interval = "0 us"'),
    "port.toml": SMALL + 'port_series = { interval = "10 us", of = "tor 99" }\n',
    "no-net.toml": from_file("none.toml"),
    "folder-net.toml": from_file("folder.toml"),
    "suffix-net.toml": from_file("net.yaml"),
    "net.yaml": "a: b",
    "lonely.toml": from_file("lonely-net.toml"),
    "lonely-net.toml": NET + '[[link]]\nbetween = ["a", "s"]\nrate = "1 Gbps"\ndelay = "1 us"\n',
    "unknown.toml": from_file("unknown-net.toml"),
    "unknown-net.toml": NET + '[[link]]\nbetween = ["a", "t"]\nrate = "1 Gbps"\ndelay = "1 us"\n',
    "rateless.toml": from_file("rateless-net.toml"),
    "rateless-net.toml": NET + '[[link]]\nbetween = ["a", "s"]\n[[link]]\nbetween = ["b", "s"]\n',
    "lanes.toml": from_file("lanes-net.toml"),
    "lanes-net.toml": NET + '[[link]]\nbetween = ["a", "s"]\nlanes = 0\nrate = "1 Gbps"\ndelay = "1 us"\n',
    "hpcc.toml": from_file("hpcc.txt"),
    "hpcc.txt": "3 1 2\n0\n1 0 25Gbps 1us 0\n2 0 25Gbps 1us 0.5\n",
    "hpcc-short.toml": from_file("short.txt"),
    "short.txt": "3 1 2\n0\n1 0 25Gbps 1us 0\n",
    "topo.toml": from_file("tree.topo"),
    "tree.topo": "Nodes 8\nTiers three\n",
    "xml.toml": from_file("net.xml"),
    "net.xml": "<network><open>",
    "matrix.toml": traffic_of("matrix", "bad.cm"),
    "bad.cm": "Nodes 4\nConnections 1\n0->9 id 1 start 0 size 100\n",
    "matrix-count.toml": traffic_of("matrix", "count.cm"),
    "count.cm": "Nodes 4\nConnections 5\n0->1 id 1 start 0 size 100\n",
    "matrix-word.toml": traffic_of("matrix", "word.cm"),
    "word.cm": "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 100 colour red\n",
    "matrix-unit.toml": traffic_of("matrix", "unit.cm"),
    "unit.cm": "Nodes 4\nConnections 1\n0->1 id 1 start 5 size 100\n",
    "trigger.toml": traffic_of("matrix", "trigger.cm"),
    "trigger.cm": "Nodes 4\nConnections 1\n0->1 id 1 trigger 7 size 100\n",
    "flow.toml": traffic_of("matrix", "flow.txt", 'format = "hpcc"'),
    "flow.txt": "1\n0 1 3 100 lots 0.0\n",
    "flows.toml": traffic_of("flows", "flows.csv"),
    "flows.csv": "src,dst,bytes,start_us\n0,0,100,0\n",
    "flows-head.toml": traffic_of("flows", "head.csv"),
    "head.csv": "from,to,bytes,start_us\n0,1,100,0\n",
    "flows-start.toml": traffic_of("flows", "start.csv"),
    "start.csv": "src,dst,bytes,start_us\n0,1,100,-5\n",
    "flows-cell.toml": traffic_of("flows", "cell.csv"),
    "cell.csv": "src,dst,bytes,start_us\n0,1,many,0\n",
    "flows-none.toml": traffic_of("flows", "none.csv"),
    "sizes.toml": sizes_of("falls.csv"),
    "falls.csv": "bytes,cdf\n100,0.5\n200,0.4\n300,1\n",
    "sizes-end.toml": sizes_of("end.csv"),
    "end.csv": "bytes,cdf\n100,0.5\n200,0.9\n",
    "sizes-head.toml": sizes_of("sizes-head.csv"),
    "sizes-head.csv": "size,share\n100,1\n",
    "sizes-empty.toml": sizes_of("none-at-all.csv"),
    "none-at-all.csv": "bytes,cdf\n",
    "hops-word.toml": hops_of("true"),
    "hops-zero.toml": hops_of("{ every = 0 }"),
    "hops-text.toml": hops_of('{ flows = "7,x" }'),
    "hops-back.toml": hops_of('{ flows = "9..3" }'),
    "hops-both.toml": hops_of('{ every = 2, flows = "1" }'),
    "hops-key.toml": hops_of('{ flow = "1" }'),
    "vl2.toml": scenario(VL2),
    "vl2-zero.toml": scenario(VL2.replace("da = 4", "da = 0")),
    "vl2-word.toml": scenario(VL2.replace("di = 4", 'di = "four"')),
    "jelly-mesh.toml": scenario(JELLYFISH.replace("switches = 10", "switches = 3")),
    "jelly-full.toml": scenario(JELLYFISH.replace("ports = 4", "ports = 3")),
    "jelly-odd.toml": scenario(JELLYFISH.replace("switches = 10", "switches = 5")),
    "jelly-tree.toml": scenario(JELLYFISH.replace("degree = 3", "degree = 1")),
    "ab-odd.toml": scenario('kind = "ab-fat-tree"\nk = 3'),
    "ab-key.toml": scenario('kind = "ab-fat-tree"\nk = 4\nhosts_per_tor = 2'),
    "jupiter-none.toml": scenario(JUPITER.replace("\nspine_blocks = 2", "")),
    "jupiter-many.toml": scenario(JUPITER.replace("\nblocks = 2", "\nblocks = 100000")),
    "planes-none.toml": scenario(PLANES.replace("planes = 2", "planes = 0")),
    "planes-many.toml": scenario(PLANES.replace("planes = 2", "planes = 100000")),
    "oneway.toml": from_file("oneway-net.toml"),
    "oneway-net.toml": NET
    + '[[link]]\nbetween = ["a", "s"]\nrate = "1 Gbps"\ndelay = "1 us"\nback = { rate = "2 Gbps" }\n'
    + '[[link]]\nbetween = ["b", "s"]\nrate = "1 Gbps"\ndelay = "1 us"\n',
    "taken.txt": "not a folder",
    "noise.pcap": bytes(range(256)) * 8,
    "empty.pcap": b"",
    "short.pcap": b"\xd4\xc3\xb2\xa1\x02\x00",
    "broken.gz": b"\x1f\x8b\x08\x00 no gzip at all",
    "broken.parquet": b"PAR1 no parquet at all",
    "counters.csv": "time,in\n2026-01-01 00:00,5\n2026-01-01 00:05,6\n2026-01-01 00:10,7\n",
    "words.csv": "time,in\n2026-01-01 00:00,five\n",
    "head-only.csv": "time,in_bytes\n",
    "day.csv": "time,in_bytes\n" + "".join(f"2026-01-01 {hour:02}:00,{hour}\n" for hour in range(24)),
    "twos.csv": "time,in_bytes\n" + "".join(f"2026-01-01 00:{2 * row:02},{row}\n" for row in range(30)),
    "bad8.csv": b"time,in_bytes\n2026-01-01 00:00,\xff\xfe\n",
    "infinite.csv": "time,in_bytes\n2026-01-01 00:00,inf\n2026-01-01 00:05,5\n",
    "negative.csv": "time,in_bytes\n2026-01-01 00:00,-4\n2026-01-01 00:05,5\n",
    "huge.csv": "time,in_bytes\n2026-01-01 00:00,1e308\n2026-01-01 00:05,1e308\n2026-01-01 00:10,1e308\n",
    "twice.csv": "time,in_bytes,in_bytes\n2026-01-01 00:00,4,5\n",
    "ragged.csv": "time,in_bytes\n2026-01-01 00:00,4,5\n",
    "empty.csv": "",
    "empty.parquet": b"",
    "broken.json": "{",
    "other.json": "[1, 2]",
    "utf16.toml": SMALL.encode("utf-16"),
    "deep.toml": "a = " + "[" * 5000 + "]" * 5000,
    "large-seed.toml": SMALL.replace("seed = 3", "seed = 1e30"),
    "seed-nan.toml": SMALL.replace("seed = 3", "seed = nan"),
    "table-twice.toml": SMALL + "\n[topology]\nkind = 'star'\n",
    "bare-net.toml": from_file("bare"),
    "bare": "a text",
    "dotted-net.toml": from_file("dotted.d/net"),
    "dotted.d/net": "a text",
    "host-type.toml": "interface = 3\n",
    "host-address.toml": 'interface = "nosuch0"\naddress = "300.1.1.1"\nrate = "1 Gbps"\n',
    "torn/summary.json": "{",
    "torn/scenario.toml": "",
    "other/summary.json": "{}",
    "other/scenario.toml": "",
    "listed/summary.json": "[]",
    "listed/scenario.toml": "",
    "bytes/summary.json": b"\xff",
    "bytes/scenario.toml": "",
    "paper/paper.toml": b"\xff\xfe",
    "unclosed/paper.toml": "title = ",
    "switch.toml": "[[port]]\nname = 5\n",
    "host-config.toml": 'backend = "carrier pigeon"\n',
}

RUN = [
    ("run", "SCENARIO"),
    ("run none.toml", "none.toml", "no such file", "pullnet new"),
    ("run folder.toml", "folder.toml", "a folder"),
    ("run empty.toml", "empty.toml", "topology"),
    ("run nul.toml", "nul.toml:1"),
    ("run latin.toml", "latin.toml", "UTF-8"),
    ("run twice.toml", "twice.toml:4", "`seed`", "keep one"),
    ("run unclosed.toml", "unclosed.toml:1"),
    ("run array.toml", "array.toml", "topology"),
    ("run unitless.toml", "unitless.toml:", "rate", "10"),
    ("run negative.toml", "negative.toml:", "delay", "-1 us"),
    ("run nan.toml", "nan.toml:", "load", "nan"),
    ("run both.toml", "both.toml", "duration"),
    ("run odd.toml", "odd.toml:", "k", "5"),
    ("run host.toml", "host.toml:", "99"),
    ("run fault.toml", "fault.toml:", "core 99"),
    ("run fault-time.toml", "fault-time.toml:", "1 ms"),
    ("run fault-nothing.toml", "fault-nothing.toml:", "fault"),
    ("run probe.toml", "probe.toml:", "interval", "0 us"),
    ("run port.toml", "port.toml:", "tor 99"),
    ("run no-net.toml", "none.toml"),
    ("run folder-net.toml", "folder.toml"),
    ("run suffix-net.toml", "net.yaml", ".topo"),
    ("run lonely.toml", "lonely-net.toml", "b"),
    ("run unknown.toml", "unknown-net.toml", "line 7", '"t"'),
    ("run rateless.toml", "rateless-net.toml", "line 7", "rate"),
    ("run lanes.toml", "lanes-net.toml", "line 9", "0"),
    ("run hpcc.toml", "hpcc.txt", "4", "0.5"),
    ("run hpcc-short.toml", "short.txt", "2"),
    ("run topo.toml", "tree.topo", "three"),
    ("run xml.toml", "net.xml"),
    ("run matrix.toml", "bad.cm", "3", "9"),
    ("run matrix-count.toml", "count.cm", "5"),
    ("run matrix-word.toml", "word.cm", "colour"),
    ("run matrix-unit.toml", "start_unit"),
    ("run trigger.toml", "trigger.cm", "7"),
    ("run flow.toml", "flow.txt", "lots"),
    ("run flows.toml", "flows.csv", "2"),
    ("run flows-head.toml", "head.csv", "src"),
    ("run flows-start.toml", "start.csv", "-5"),
    ("run flows-cell.toml", "cell.csv", "many"),
    ("run flows-none.toml", "none.csv"),
    ("run sizes.toml", "falls.csv", "0.4"),
    ("run sizes-end.toml", "end.csv", "0.9"),
    ("run sizes-head.toml", "sizes-head.csv", "bytes,cdf"),
    ("run sizes-empty.toml", "none-at-all.csv"),
    ("run hops-word.toml", "hops-word.toml:", "hops", "true", "every = 10"),
    ("run hops-zero.toml", "hops-zero.toml:", "hops.every", "0", "use 1"),
    ("run hops-text.toml", "hops-text.toml:", "hops.flows", '"x"', "0,7,10..19"),
    ("run hops-back.toml", "hops-back.toml:", "9..3", "3..9"),
    ("run hops-both.toml", "hops-both.toml:", "hops.every", "keep one"),
    ("run hops-key.toml", "hops-key.toml:", "hops.flow", "did you mean"),
    ("run vl2-zero.toml", "vl2-zero.toml:", "da", "0", "use 2"),
    ("run vl2-word.toml", "vl2-word.toml:", "di", '"four"', "di = 4"),
    ("run jelly-mesh.toml", "jelly-mesh.toml:", "degree", "3", "at most 2"),
    ("run jelly-full.toml", "jelly-full.toml:", "degree", "3", "at most 2"),
    ("run jelly-odd.toml", "jelly-odd.toml:", "degree", "odd", "even"),
    ("run jelly-tree.toml", "jelly-tree.toml:", "degree", "connected", "use 3"),
    ("run ab-odd.toml", "ab-odd.toml:", "k", "3", "use 4"),
    ("run ab-key.toml", "ab-key.toml:", "hosts_per_tor", "vl2"),
    ("run jupiter-none.toml", "jupiter-none.toml:", "spine_blocks", "missing"),
    ("run jupiter-many.toml", "jupiter-many.toml:", "blocks", "100000", "use"),
    ("run planes-none.toml", "planes-none.toml:", "planes", "0", "use"),
    ("run planes-many.toml", "planes-many.toml:", "planes", "100000", "use 1 to 16"),
    ("run /dev/zero", "/dev/zero"),
    ("run small.toml --set k", "--set", "k"),
    ("run small.toml --set =3", "--set"),
    ("run small.toml --set topology.k=", "topology.k"),
    ("run small.toml --set topology.q=4", "topology.q"),
    ("run small.toml --set topology.k=4.5", "topology.k", "4.5"),
    ("run small.toml --set traffic.9.degree=2", "traffic.9"),
    ("run small.toml --set traffic.x.degree=2", "traffic.x"),
    ("run small.toml --seed -1", "--seed", "-1"),
    ("run small.toml --seed one", "--seed", "one"),
    ("run small.toml --seed 99999999999999999999", "--seed"),
    ("run small.toml --threads 0", "threads", "0"),
    ("run small.toml --threads 100000", "threads", "256"),
    ("run small.toml --out taken.txt", "taken.txt"),
    ("run small.toml --out taken.txt/inner", "taken.txt"),
    ("run small.toml --stall-after 5", "stall", "5"),
    ("run small.toml --stall-after soon", "stall", "soon"),
    ("run small.toml --silence nothing", "nothing", "unfinished_flows"),
    ("run small.toml --nonsense", "--nonsense"),
    ("run small.toml/x", "small.toml/x", "Not a directory", "name a file"),
    ("run utf16.toml", "utf16.toml", "byte 0", "UTF-8"),
    ("run deep.toml", "deep.toml:1", "deep"),
    ("run large-seed.toml", "large-seed.toml:3", "1e30", "seed = 1"),
    ("run seed-nan.toml", "seed-nan.toml:3", "seed", "NaN"),
    ("run table-twice.toml", "table-twice.toml", "`topology`", "keep one"),
    ("run bare-net.toml", "bare", "without ending", ".topo"),
    ("run dotted-net.toml", "dotted.d/net", "without ending", ".topo"),
    ("run small.toml --out /dev/null", "/dev/null", "is not a directory", "choose another with --out"),
    ("run small.toml --set topology.k=1e400", "topology.k", "inf"),
    ("run small.toml --set topology.k=nan", "topology.k", "NaN"),
    ("run small.toml --set 'transport.mtu=99999999999999999999 B'", "transport.mtu", "out of range"),
    ("run small.toml --set 'topology.link.rate=NaN Gbps'", "topology.link.rate", "NaN Gbps", "10 Gbps"),
    ("run small.toml --set 'topology.link.delay=inf us'", "topology.link.delay", "inf us"),
    ("run small.toml --set traffic=3", "traffic", "[[traffic]]"),
    ("run small.toml --set traffic.0={}", "traffic.0.kind", "missing"),
    ("run small.toml small.toml", "small.toml", "--out"),
    ("run small.toml --stall-after=-1us", "stall", "-1us"),
    ("runn small.toml", "runn", "run"),
]

OTHERS = [
    ("check none.toml", "none.toml"),
    ("check odd.toml host.toml", "odd.toml:", "host.toml:"),
    ("check small.toml --set 'switch.data_queue=0 packets'", "data_queue", "0 packets"),
    ("paths small.toml 0 99", "99", "15"),
    ("paths small.toml 0 0", "0"),
    ("paths small.toml zero 1", "zero"),
    ("paths small.toml -1 1", "-1"),
    ("paths small.toml 0 99999999999999999999999", "99999999999999999999999", "use 0 to 15"),
    ("export topology small.toml net", "net", "without ending", ".topo"),
    ("export topology small.toml dotted.d/net", "dotted.d/net", "without ending", ".topo"),
    ("export topology small.toml ''", "without ending", ".topo"),
    ("export topology small.toml folder.toml", "folder.toml", "directory", "choose another place"),
    ("export flows torn flows.cm", "torn", "summary.json"),
    ("export flows other flows.cm", "other", "summary.json has no key", "another version"),
    ("diff listed listed", "listed", "summary.json", "another version"),
    ("diff bytes bytes", "bytes", "not UTF-8", "run the scenario again"),
    ("reproduce ./paper --quick", "paper/paper.toml", "byte 0", "UTF-8"),
    ("reproduce ./unclosed --quick", "unclosed/paper.toml", "is not TOML"),
    ("reproduce ndp/16/3 --smoke", "ndp/16/3", "there are"),
    ("sweep small.toml --seeds 1,1", "--seeds", "1", "name each seed once"),
    ("sweep small.toml --seeds ,", "--seeds", "1,2,5"),
    ("sweep small.toml --seeds 1 --over topology.k=4,,8", "topology.k", "empty", "4,8,12"),
    ("sweep small.toml --seeds 1 --over topology.k=nan", "topology.k", "NaN"),
    ("sweep small.toml --seeds 1 --confidence nan", "confidence", "nan", "0.95"),
    ("sweep small.toml --seeds 1 --on dask://a:b", "dask://a:b", "dask://HOST:PORT"),
    ("sweep small.toml --seeds 1 --slurm-option --x", "--slurm-option", "--slurm"),
    ("switch folder.toml --check", "folder.toml", "directory", "name a file"),
    ("switch utf16.toml --check", "utf16.toml", "UTF-8"),
    ("host serve folder.toml", "folder.toml", "directory", "name a file"),
    ("host serve host-type.toml", "host-type.toml:1", "interface", "3", "quotes"),
    ("host serve host-address.toml", "host-address.toml:2", "300.1.1.1", "10.0.0.1"),
    ("host put small.toml 300.1.1.1", "300.1.1.1", "10.0.0.2"),
    ("host store taken.txt --address 127.0.0.1", "taken.txt", "make it first"),
    ("tell none.sock fault", "fault", "loss=0.01"),
    ("list nothing", "nothing", "protocols"),
    ("new taken.txt/x", "taken.txt"),
    ("new ''", "name"),
    ("diff none a", "none"),
    ("diff taken.txt taken.txt", "taken.txt"),
    ("completion tcsh", "tcsh", "bash"),
    ("manual taken.txt", "taken.txt"),
    ("sweep none.toml --over topology.k=4", "none.toml"),
    ("sweep small.toml --over topology.k", "--over", "topology.k"),
    ("sweep small.toml --over topology.k=", "--over"),
    ("sweep small.toml --over topology.k=4..2", "4..2"),
    ("sweep small.toml --over topology.k=2..8..0", "2..8..0"),
    ("sweep small.toml --over topology.q=1,2", "topology.q"),
    ("sweep small.toml --over topology.k=4,4", "4"),
    ("sweep small.toml --over topology.k=4 --over topology.k=6", "topology.k"),
    ("sweep small.toml --seeds 5..1", "5..1"),
    ("sweep small.toml --seeds x", "x"),
    ("sweep small.toml --seeds 1..99999999999", "seeds"),
    ("sweep small.toml --over topology.k=1..99999999999", "99999999999"),
    ("sweep small.toml --seeds 1 --confidence 1.5", "confidence", "1.5"),
    ("sweep small.toml --seeds 1 --keep nothing", "nothing"),
    ("sweep small.toml --seeds 1 --jobs 0", "--jobs", "0"),
    ("sweep small.toml --seeds 1 --on http://a:1", "http://a:1", "dask://"),
    ("sweep small.toml --seeds 1 --out taken.txt", "taken.txt"),
    ("export topology none.toml net.toml", "none.toml", "pullnet new"),
    ("export topology vl2.toml net.yaml2", "net.yaml2", ".topo"),
    ("export topology vl2.toml none/net.toml", "none/net.toml", "choose another place"),
    ("export topology vl2.toml out.topo", "out.topo", "trees", ".txt"),
    ("export topology oneway.toml out.txt", "out.txt", '"a" and "s"', "direction", ".toml"),
    ("export topology /dev/zero net.toml", "/dev/zero", "name a file"),
    ("export flows none flows.cm", "none", "no such folder", "pullnet run"),
    ("export flows taken.txt flows.cm", "taken.txt", "this is a file", "folder of a result"),
    ("reproduce ./taken.txt --quick", "./taken.txt", "paper.toml"),
    ("reproduce nothing", "nothing", "ndp"),
    ("reproduce ndp/nothing --smoke", "nothing"),
    ("reproduce ndp --quick --smoke", "--quick", "--smoke"),
    ("reproduce ndp --smoke --seeds 0.5", "0.5"),
    ("reproduce ndp --smoke --jobs 0", "--jobs"),
    ("reproduce ndp/3 --smoke --out taken.txt", "taken.txt"),
    ("codes table --symbols 0", "0"),
    ("codes table --symbols 100000000", "100000000"),
    ("codes table --trials -1", "-1"),
    ("codes table --trials 99999999999", "99999999999", "1 to 1000000000"),
    ("codes table --seed 99999999999999999999", "seed", "99999999999999999999", "9223372036854775807"),
    ("codes speed --symbol-bytes 0", "0"),
    ("switch none.toml --check", "none.toml"),
    ("switch switch.toml --check", "switch.toml", "5"),
    ("tell none.sock status", "none.sock"),
    ("testbed up none.toml", "none.toml"),
    ("testbed play odd.toml", "odd.toml"),
    ("testbed compare none.toml", "none.toml"),
    ("host serve none.toml", "none.toml"),
    ("host serve host-config.toml", "host-config.toml", "carrier pigeon"),
    ("host call 10.0.0.2:61199 x hello", "x"),
    ("host call 10.0.0.2 7 hello --socket none.sock", "10.0.0.2", "10.0.0.2:61199"),
    ("host call 10.0.0.2:61199 7 hello --timeout nan --socket none.sock", "NaN s", "or more"),
    ("host bench somewhere --socket none.sock", "somewhere", "10.0.0.2"),
    ("host bench 10.0.0.2 --time soon --request x --socket none.sock", '--time "soon"', '--request "x"'),
    ("host proxy --listen nowhere --to 10.0.0.2:7 --socket none.sock", "nowhere", "127.0.0.1:8080"),
    ("host proxy --to 10.0.0.2:7 --socket none.sock", "--listen", "--serve"),
]

COLLECTIVE = 'check star.toml --set \'traffic.0={kind="collective",size="1 MB"'

LATER = [
    (f'{COLLECTIVE},algorithm="rings"}}\'', "traffic.0.algorithm", '"rings"', '"ring"'),
    (f'{COLLECTIVE},operation="reduce"}}\'', "traffic.0.operation", '"reduce"', '"all-reduce"'),
    (f'{COLLECTIVE},operation="all-to-all",algorithm="ring"}}\'', "traffic.0.algorithm", '"ring"', '"pairwise"'),
    (f'{COLLECTIVE},operation="all-gather",algorithm="tree"}}\'', "traffic.0.algorithm", '"tree"', '"direct"'),
    (f"{COLLECTIVE},group=3}}'", "traffic.0.group", "3", "use a divisor of 4"),
    (f"{COLLECTIVE},group=1}}'", "traffic.0.group", "1", "use 2"),
    (f"{COLLECTIVE},rings=2}}'", "traffic.0.rings", '"operation"'),
    (f"{COLLECTIVE},repeat=0}}'", "traffic.0.repeat", "0", "use 1"),
    (f'{COLLECTIVE},pause="-1 us"}}\'', "traffic.0.pause", "-1 us", "from 0 ps"),
    (f'{COLLECTIVE},wait_for="sent"}}\'', "traffic.0.wait_for", '"sent"', '"received"'),
    (f'{COLLECTIVE},algorithm="halving-doubling"}}\' --set topology.hosts=6', "algorithm", "6", "use 2, 4, 8"),
    ("check star.toml --set 'traffic.0={kind=\"collective\"}'", "traffic.0.size", "missing"),
    ('check star.toml --set \'traffic.0={kind="collective",size="1 B"}\'', "traffic.0.size", "1 B", "use more bytes"),
    ('check star.toml --set \'traffic.0={kind="collective",size="0 B"}\'', "traffic.0.size", "0 B", "use 1 B"),
    ("check star.toml --set probes.incidents=3", "probes.incidents", "3", "incidents = false"),
    ("check star.toml --set probes.incident=true", "probes.incident", "incidents"),
    ("check star.toml --set 'probes.timeouts=\"often\"'", "probes.timeouts", "often", "timeouts = false"),
    ("reproduce ./nowhere --quick", "./nowhere", "there are comparison", "paper.toml"),
    ("host put none.bin 127.0.0.1 --address 127.0.0.1", "none.bin", "no such file", "name the file to send"),
    ("host put small.toml 127.0.0.1 --interface nosuch0", "--interface nosuch0", "use one of lo"),
    ("host get x 127.0.0.1 -o out.bin --interface nosuch0", "--interface nosuch0", "use one of lo"),
    ("host store . --address 127.0.0.1 --interface nosuch0", "--interface nosuch0", "use one of lo"),
    ("host put small.toml 127.0.0.1 --address 192.0.2.1", "--address 192.0.2.1", "no interface", "ip address"),
    ("host store . --address 192.0.2.1", "--address 192.0.2.1", "no interface", "ip address"),
    ("host store . --address 127.0.0.1 --most lots", "--most", "lots", "9000 B"),
    ("host get x 127.0.0.1 -o none/out.bin", "none", "make it first"),
    ("host get x 127.0.0.1:99999 -o out.bin", "127.0.0.1:99999", "10.0.0.2:61200"),
    ("host put small.toml 127.0.0.1 --group 10.0.0.1", "--group 10.0.0.1", "224.0.0.0"),
    ("host put small.toml 127.0.0.1 --rate fast", "--rate", "fast", "10 Gbps"),
    ("host put . 127.0.0.1", ".", "one file"),
    ("host bench 10.0.0.2 --socket none.sock --time -1s", "--time", "-1s", "from 0 ps"),
    ("traffic bill day.csv day.csv --invoice x.docx", "x.docx", ".pdf or .csv"),
    ("traffic bill day.csv none.csv --invoice x.pdf", "none.csv", "name one that is there"),
    ("traffic bill day.csv --commit fast", "--commit", "fast", "1 Gbps"),
]
"""Commands and keys that came last."""

TRAFFIC = [
    ("traffic volumes none.pcap", "none.pcap", "name one that is there"),
    ("traffic volumes folder.toml", "folder.toml"),
    ("traffic volumes noise.pcap", "noise.pcap"),
    ("traffic volumes empty.pcap", "empty.pcap"),
    ("traffic volumes short.pcap", "short.pcap"),
    ("traffic volumes broken.gz", "broken.gz"),
    ("traffic volumes broken.parquet", "broken.parquet"),
    ("traffic volumes counters.csv", "counters.csv", "--unit"),
    ("traffic volumes counters.csv --unit bananas", "bananas"),
    ("traffic volumes words.csv --unit bytes", "words.csv", "five"),
    ("traffic volumes folder.toml counters.csv --unit bytes", "folder.toml"),
    ("traffic volumes head-only.csv", "head-only.csv"),
    ("traffic volumes counters.csv --unit bytes --timescale 7min", "7"),
    ("traffic volumes counters.csv --unit bytes --timescale 0s", "0s"),
    ("traffic volumes counters.csv --unit bytes --columns out", "out"),
    ("traffic volumes counters.csv --unit bytes --input-timezone Mars/Olympus", "Mars/Olympus"),
    ("traffic volumes counters.csv --unit bytes --capacity fast", "fast"),
    ("traffic volumes counters.csv --unit bytes --out taken.txt/x.csv", "taken.txt"),
    ("traffic volumes counters.csv --unit bytes --out volumes.doc", "volumes.doc"),
    ("traffic fit none.parquet", "none.parquet"),
    ("traffic dimension counters.csv --unit bytes --eps 2", "2"),
    ("traffic dimension counters.csv --unit bytes --eps x", "x"),
    ("traffic bill counters.csv --unit bytes --month 2026-13", "2026-13"),
    ("traffic bill counters.csv --unit bytes --price lots", "lots"),
    ("traffic stationarity counters.csv --unit bytes --window 0s", "0s"),
    ("traffic synthesise --mean fast --timescale 1s --duration 1min -o a.csv", "fast"),
    ("traffic synthesise --mean '1 Mbps' --cv -1 --timescale 1s --duration 1min -o a.csv", "-1"),
    ("traffic study none.pcap -o report", "none.pcap"),
    ("traffic volumes day.csv/x.csv", "Not a directory", "name a file"),
    ("traffic volumes empty.csv", "empty.csv", "header line"),
    ("traffic volumes empty.parquet", "empty.parquet", "not a Parquet file"),
    ("traffic volumes bad8.csv", "bad8.csv, line 2", "0xff", "iconv"),
    ("traffic volumes infinite.csv", "infinite.csv, line 2", "in_bytes", "infinite", "finite number"),
    ("traffic volumes negative.csv", "negative.csv, line 2", "-4"),
    ("traffic volumes huge.csv", "huge.csv, line 2", "in_bytes", "1e+308", "at most"),
    ("traffic volumes twice.csv", "twice.csv", "in_bytes", "rename one"),
    ("traffic volumes ragged.csv", "ragged.csv", "line 2", "as many cells"),
    ("traffic volumes other.json", "other.json", "rrdtool"),
    ("traffic volumes broken.json", "broken.json", "JSON"),
    ("traffic volumes small.toml", "small.toml", "pcap"),
    ("traffic volumes day.csv -o noext", "noext", "no ending", ".parquet or .csv"),
    ("traffic volumes day.csv --timescale ''", "--timescale: is empty", "100ms,1s"),
    ("traffic volumes day.csv --timescale 1s,,5s", "timescale", "1s,,5s", "empty"),
    ("traffic volumes day.csv --timescale nan", "timescale", "nan"),
    ("traffic volumes day.csv --interval 0s", "--interval: ", "0s", "5 ms"),
    ("traffic volumes day.csv --capacity '-1 Gbps'", "--capacity: ", "-1 Gbps", "above zero"),
    ("traffic volumes day.csv --width 7", "width", "7", "32, 64"),
    ("traffic volumes day.csv --stamps middle", "stamps", "middle", "begin, end"),
    ("traffic volumes day.csv --time-format %d/%m/%Y", "day.csv, line 2", "%d/%m/%Y"),
    ("traffic volumes day.csv --input-timezone /etc/passwd", "/etc/passwd", "Europe/Berlin"),
    ("traffic volumes day.csv --filter tcp", "day.csv", "filter", "leave it out"),
    ("traffic fit day.csv --bootstrap 999999999999", "bootstrap", "999999999999", "10000000"),
    ("traffic fit day.csv --models nothing", "--models", "nothing", "log-normal"),
    ("traffic dimension day.csv --eps 0.1,,0.2", "--eps", "0.1,,0.2", "0.05,0.01"),
    ("traffic dimension day.csv --eps nan", "nan", "0.01"),
    ("traffic bill twos.csv", "bins of 2 min", "--interval 5min", "--slot"),
    ("traffic bill day.csv --slot 0s", "--slot", "0s", "5 ms"),
    ("traffic bill day.csv --invoice noext", "noext", "no ending", ".pdf or .csv"),
    ("traffic bill day.csv --percentile nan", "nan", "95"),
    ("traffic stationarity day.csv --window 1h,,2h", "--window", "1h,,2h", "empty"),
    ("traffic stationarity day.csv --window nan", "--window", "nan"),
    ("traffic stationarity day.csv --significance 2", "significance", "2", "0.05"),
    ("traffic synthesise --mean '1 Mbps' --cv nan --timescale 1s --duration 1min -o a.csv", "cv", "nan", "up to 10"),
    ("traffic synthesise --mean '1 Mbps' --cv 1 --timescale 0s --duration 1min -o a.csv", "--timescale", "0s"),
    ("traffic study day.csv -o taken.txt", "taken.txt", "choose another with --out"),
]

CALLS: list[tuple[str, Callable[[], Any], str]] = [
    ("run", lambda: pullnet.run("none.toml"), "none.toml"),
    ("run text", lambda: pullnet.run("seed = 1\n"), "topology"),
    ("run set", lambda: pullnet.run("small.toml", set={"topology.k": None}), "topology.k"),
    ("run set name", lambda: pullnet.run("small.toml", set={"topology.q": 4}), "topology.q"),
    ("run seed", lambda: pullnet.run("small.toml", seed=-1), "-1"),
    ("run threads", lambda: pullnet.run("small.toml", threads=0), "0"),
    ("run silence", lambda: pullnet.run("small.toml", silence=["nothing"]), "nothing"),
    ("check", lambda: pullnet.check("odd.toml"), "5"),
    ("paths", lambda: pullnet.paths("small.toml", 0, 99), "99"),
    ("load", lambda: pullnet.load("none"), "none"),
    ("load file", lambda: pullnet.load("taken.txt"), "taken.txt"),
    ("load_sweep", lambda: pullnet.load_sweep("none"), "none"),
    ("sweep", lambda: pullnet.sweep("small.toml", {"topology.k": []}, seeds=[1]), "topology.k"),
    ("sweep seeds", lambda: pullnet.sweep("small.toml", seeds=[]), "seed"),
    ("sweep confidence", lambda: pullnet.sweep("small.toml", seeds=[1], confidence=0), "0"),
    ("run_many", lambda: pullnet.run_many([pullnet.Job("none.toml")]), "none.toml"),
    ("run_many workers", lambda: pullnet.run_many([pullnet.Job("small.toml")], workers=0), "0"),
    ("traffic.read", lambda: traffic.read("none.pcap"), "none.pcap"),
    ("traffic.as_volumes", lambda: traffic.as_volumes([1.0, -2.0], timescale="1 s"), "-2"),
    ("traffic.as_volumes timescale", lambda: traffic.as_volumes([1.0, 2.0], timescale="soon"), "soon"),
    ("codes.failure", lambda: codes.failure("raptorq", symbols=0, lost=1, overhead=0, trials=10), "0"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files under test."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    (tmp_path / "folder.toml").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_over_a_hundred() -> None:
    assert len(RUN) + len(OTHERS) + len(TRAFFIC) + len(CALLS) >= 250


@pytest.mark.parametrize(
    ("command", "words"),
    [(command, words) for command, *words in [*RUN, *OTHERS, *LATER, *TRAFFIC]],
    ids=[command for command, *_ in [*RUN, *OTHERS, *LATER, *TRAFFIC]],
)
def test_a_wrong_input_of_a_command(
    command: str, words: list[str], place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in place.iterdir())
    code = status(shlex.split(command))
    text = capsys.readouterr().err
    assert code == 2, text
    assert [word for word in words if word not in text] == [], text
    assert not re.search("Traceback|fault in pullnet", text), text
    assert not re.search(r"^error: \S+$", text, re.MULTILINE), f"says no remedy: {text}"
    shutil.rmtree(place / "results", ignore_errors=True)
    assert sorted(path.name for path in place.iterdir() if path.name != "results") == before, "leaves files behind"


@pytest.mark.parametrize(("call", "word"), [(call, word) for _, call, word in CALLS], ids=[name for name, *_ in CALLS])
def test_a_wrong_input_of_the_python_api(call: Callable[[], Any], word: str, place: Path) -> None:
    with pytest.raises(pullnet.InputError) as caught:
        call()
    assert word in str(caught.value)


@pytest.mark.parametrize("command", ["diff", "export flows"])
def test_a_table_that_is_not_whole_is_named(command: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(["run", "small.toml", "--set", "probes.packets=true", "-o", "out", "--quiet"]) == 0
    for table in (place / "out").glob("*.parquet"):
        table.write_bytes(table.read_bytes()[:100])
    assert status([*command.split(), "out", "out" if command == "diff" else "flows.cm"]) == 2
    assert re.search(r"out/\w+\.parquet: is not a whole table: .*; run the scenario again", capsys.readouterr().err)
    with pytest.raises(InputError, match=r"ports\.parquet: is not a whole table"):
        _ = pullnet.load("out").ports


@pytest.mark.parametrize("word", [b"utilisation", b"ARROW:schema", b"host 15 -> tor"])
def test_a_table_whose_texts_are_damaged_is_refused(word: bytes, place: Path) -> None:
    assert status(["run", "small.toml", "-o", "out", "--quiet"]) == 0
    file = place / "out" / "ports.parquet"
    table = pq.read_table(file)
    pq.write_table(table, file, compression="none", use_dictionary=False)
    file.write_bytes(file.read_bytes().replace(word, b"\xff" + word[1:]))
    with pytest.raises(InputError, match=r"ports\.parquet: is not a whole table: .*; run the scenario again"):
        _ = pullnet.load("out").ports


@pytest.mark.parametrize("command", ["diff", "export flows"])
def test_a_result_without_a_table_of_every_run_is_named(
    command: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["run", "small.toml", "--set", "probes.packets=true", "-o", "out", "--quiet"]) == 0
    (place / "out" / "flows.parquet").unlink()
    (place / "out" / "flows.parquet").mkdir()
    assert status([*command.split(), "out", "out" if command == "diff" else "flows.cm"]) == 2
    said = "error: out: has no file flows.parquet, which every run leaves; run the scenario again\n"
    assert capsys.readouterr().err == said
    assert "flows" not in pullnet.load("out").table_names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("null", "holds something else than the summary of a run; was it written by another version"),
        ("[]", "holds something else than the summary of a run; was it written by another version"),
        ('{"world": "simul', "is no whole JSON text: Unterminated string .*; run the scenario again"),
    ],
)
def test_a_summary_that_is_none_is_refused_in_plain_words(text: str, said: str, place: Path) -> None:
    (place / "summary.json").write_text(text)
    (place / "scenario.toml").write_text("")
    with pytest.raises(InputError, match=rf"summary\.json {said}"):
        pullnet.load(place)


REPLACED = ("out/flows.parquet", "so it is not the table `flows` of a run; run the scenario again")


@pytest.mark.parametrize("command", ["diff", "export flows"])
def test_another_table_in_the_place_of_one_is_named(
    command: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["run", "small.toml", "--set", "probes.packets=true", "-o", "out", "--quiet"]) == 0
    shutil.copy(place / "out" / "ports.parquet", place / "out" / "flows.parquet")
    assert status([*command.split(), "out", "out" if command == "diff" else "flows.cm"]) == 2
    text = capsys.readouterr().err
    assert text.startswith(f"error: {REPLACED[0]}: has no column `flow` of numbers, {REPLACED[1]}\n"), text
    with pytest.raises(InputError, match=r"hops\.parquet: has no column `flow`"):
        shutil.copy(place / "out" / "ports.parquet", place / "out" / "hops.parquet")
        pullnet.waits(pullnet.load("out"), 0)
