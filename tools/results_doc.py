"""Writes docs/results.md from what a run says of its own columns and keys; with --check, only compares."""

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pullnet
from pullnet import _core
from pullnet.results import summary

TARGET = Path(__file__).parent.parent / "docs" / "results.md"

SCENARIO = """
name = "Every table"
until = "all flows done"
topology = { kind = "star", hosts = 3, link = { rate = "10 Gbps", delay = "1 us" } }
transport = { kind = "ndp" }
switch = { kind = "trim" }
traffic = [{ kind = "incast", degree = 2, size = "9000 B" }]
[probes]
"""

PROBES = "\n".join(line for _, line, _ in _core.probes())

HEAD = """# What a run leaves

`pullnet run` leaves a directory; `pullnet show DIRECTORY` prints its summary again, and `pullnet.load(directory)` and
`pullnet.run(...)` give the same in Python.

| file | content |
| --- | --- |
| `scenario.toml` | the scenario with every value in force and where it came from |
| `inputs/` | the files that the scenario names, as they were read, and `SHA256SUMS`; only there if it names any |
| `summary.json` | what the run came to; its keys are below |
| `*.parquet` | the tables below; units and meanings are also in the metadata of each field |
| `PARTIAL` | only there if the result is not whole; says why: it was interrupted, or tables found no room |

`flows`, `hosts` and `ports` are always there, the others if `[probes]` enables them. A `series` of more than
10,000,000 rows is refused before the run where that can be told, and else left out, with exit code 2; so are `hops`
of more than 5,000,000. A column whose name ends in `_ps` holds whole picoseconds. Percentiles in the summary
interpolate linearly between neighbours, which is the default of numpy. A directory is written beside its place and
renamed, so that an existing directory is complete.

A result runs again wherever it is: `pullnet run RESULT/scenario.toml` gives the same fingerprint. Its `scenario.toml`
names the copies in `inputs/` (a flow list in Parquet is kept as the CSV that was read from it), and they are compared
with `SHA256SUMS` first. They are kept whole, of any size; with `--no-inputs` (in Python `copy_inputs=False`)
nothing is copied, and the scenario names the files by their full paths.

Ctrl-C, a request to terminate and a lost terminal (SIGINT, SIGTERM, SIGHUP) end a run early and keep its result; a
second one throws it away. With `nohup` a lost terminal is no matter.

Exit codes of `pullnet run`: 0 ran; 1 a fault of pullnet; 2 the input is wrong, or there is no room for what comes out;
3 the run ended early, flows failed, or Ctrl-C came while the result was written; 130 Ctrl-C came before the command had
begun.
"""


def table(result: pullnet.Result, name: str) -> str:
    """One table as Markdown."""
    doc = result.arrow(name).schema.metadata[b"doc"].decode()
    rows = [f"| `{column}` | {info.unit} | {info.doc} |" for column, info in result.columns(name).items()]
    return "\n".join([f"\n## {name}\n", doc, "", "| column | unit | meaning |", "| --- | --- | --- |", *rows, ""])


KEYS = """
## summary.json

The dataclasses of `pullnet.results.summary`, with these names: an object of one kind has the keys of its table.
"""


def keys() -> str:
    """The keys of a summary as Markdown, a table for each kind of object, the summary first."""
    kinds = [node for node in ast.parse(inspect.getsource(summary)).body if isinstance(node, ast.ClassDef)]
    kinds.sort(key=lambda kind: kind.name != summary.Summary.__name__)
    return "".join(_kind(kind) for kind in kinds)


def _kind(kind: ast.ClassDef) -> str:
    head = [
        f"\n### {kind.name}\n",
        ast.get_docstring(kind) or "",
        "",
        "| key | type | meaning |",
        "| --- | --- | --- |",
    ]
    return "\n".join([*head, *_rows(kind), ""])


def _rows(kind: ast.ClassDef) -> Iterator[str]:
    for field, after in zip(kind.body, [*kind.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            if not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)):
                raise SystemExit(f"{kind.name}.{field.target.id} in pullnet/results/summary.py has no text below it")
            text = " ".join(str(after.value.value).split())
            shown = ast.unparse(field.annotation).replace("|", "or")
            yield f"| `{field.target.id}` | `{shown}` | {text} |"


def document() -> str:
    """The whole text."""
    result = pullnet.run(SCENARIO + PROBES)
    return HEAD + "".join(table(result, name) for name in result.table_names) + KEYS + keys()


def main() -> None:
    """Write or compare."""
    if "--check" not in sys.argv:
        TARGET.write_text(document(), encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != document():
        sys.exit("docs/results.md is out of date; run tools/results_doc.py")


if __name__ == "__main__":
    main()
