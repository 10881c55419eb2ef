"""`pullnet sweep`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pullnet import json_text
from pullnet.cli.options import out_directory
from pullnet.cli.run import ENDED_EARLY, Settings, Silence
from pullnet.errors import InputError
from pullnet.results.directory import sweep_directory

if TYPE_CHECKING:
    from pullnet.sweeps.make import Outcomes, Where
    from pullnet.sweeps.plan import Plan
    from pullnet.sweeps.store import Store
    from pullnet.sweeps.sweep import Sweep

Many = list[str] | None

File = Annotated[
    Path, typer.Argument(metavar="SCENARIO", help="A scenario file; - is standard input.", show_default=False)
]
Over = Annotated[
    Many,
    typer.Option(
        "--over",
        metavar="PATH=VALUES",
        help="Vary a setting: values with commas, or a range FIRST..LAST or FIRST..LAST..STEP. "
        "Given several times, every combination is run.",
        show_default=False,
    ),
]
Seeds = Annotated[
    str | None, typer.Option(metavar="LIST", help="Seeds, such as 1,2,5 or 1..50; that of the file if not given.")
]
Out = Annotated[
    Path | None,
    out_directory("Where the sweep goes; results/NAME-sweep if not given. Runs that are there are not repeated."),
]
Keep = Annotated[
    Many,
    typer.Option(
        "--keep",
        metavar="TABLE",
        help="Keep a table of all runs, such as flows, in DIR/TABLE.parquet; may be repeated.",
    ),
]
Metrics = Annotated[
    Many,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Column to show and draw, such as fct_us.p99; a column of DIR/runs.parquet. May be repeated.",
    ),
]
Confidence = Annotated[float, typer.Option(help="Level of the confidence intervals.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, max=256, help="Runs side by side; as many as there are processors."),
]
On = Annotated[
    str | None, typer.Option("--on", metavar="dask://HOST:PORT", help="Run on the workers of a dask scheduler.")
]
Slurm = Annotated[bool, typer.Option("--slurm", help="Submit the runs to Slurm as one array job.")]
SlurmOptions = Annotated[
    Many,
    typer.Option(
        "--slurm-option", metavar="OPTION", help="Hand an option to sbatch, such as --partition=long; may be repeated."
    ),
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="With --slurm: stay until the job is done, or leave.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything, say what would be run, and run nothing.")]


def sweep(
    scenario: File,
    over: Over = None,
    seeds: Seeds = None,
    settings: Settings = None,
    out: Out = None,
    keep: Keep = None,
    metrics: Metrics = None,
    confidence: Confidence = 0.95,
    jobs: Jobs = None,
    threads: Annotated[int, typer.Option(min=1, max=256, help="Threads of each run.")] = 1,
    on: On = None,
    slurm: Slurm = False,
    slurm_options: SlurmOptions = None,
    wait: Wait = True,
    dry_run: DryRun = False,
    silence: Silence = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print points with their means as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors, and JSON with --json.")] = False,
) -> None:
    """Run a scenario at every combination of settings and seeds.

    Ctrl-C loses nothing: the same command goes on where it was.
    """
    # Data frames and statistics are large libraries that other commands do without.
    from pullnet.runs.seeds import seeds_of
    from pullnet.sweeps import plan as plans
    from pullnet.sweeps.store import Store
    from pullnet.sweeps.sweep import carry_through, check_confidence

    check_confidence(confidence)
    _check_metrics(metrics or [])
    where = _where(jobs, on, slurm, slurm_options or [], wait=wait)
    plan = plans.make(
        scenario,
        over or [],
        None if seeds is None else seeds_of(seeds),
        set=settings or [],
        silence=silence or [],
        keep=keep or [],
        threads=threads,
    )
    _check_names(metrics or [], plan)
    store = Store(out or sweep_directory(plan.name))
    if dry_run:
        _announce(plan, store)
        return
    found, outcomes = carry_through(plan, store, where, confidence, quiet=quiet)
    _tell(found, plan, metrics, outcomes, as_json=as_json, quiet=quiet)
    _leave(found, outcomes, waited=wait)


def _check_metrics(metrics: list[str]) -> None:
    """Refuse what no summary can have, before the scenario is read."""
    from pullnet.sweeps.data import is_metric
    from pullnet.sweeps.sweep import unknown

    wrong = [unknown(name) for name in metrics if not is_metric(name)]
    if wrong:
        raise InputError(wrong)


def _check_names(metrics: list[str], plan: "Plan") -> None:
    """Refuse metrics of tags, tenants, transports and tiers that no point has."""
    from pullnet.sweeps.data import unknown_name

    wrong = [error for name in metrics if (error := unknown_name(name, plan.group_names))]
    if wrong:
        raise InputError(wrong)


def _where(jobs: int | None, on: str | None, slurm: bool, options: list[str], *, wait: bool) -> "Where":
    from pullnet.sweeps.make import Where
    from pullnet.sweeps.slurm import Manner

    if on is not None and slurm:
        raise InputError("--on and --slurm: use one of them")
    if (on is not None or slurm) and jobs is not None:
        raise InputError(
            "--jobs: is for this machine; leave it out with --on and --slurm, which have workers of their own"
        )
    if (options or not wait) and not slurm:
        raise InputError(f"{'--slurm-option' if options else '--no-wait'}: is for --slurm; add it, or leave this out")
    return Where(jobs, on, Manner(options, wait) if slurm else None)


def _announce(plan: "Plan", store: "Store") -> None:
    """Say what would be run."""
    from pullnet.sweeps.make import missing

    for axis in plan.axes:
        typer.echo(f"{axis.path}: {', '.join(axis.texts)}")
    left = len(missing(plan, store))
    typer.echo(
        f"{len(plan.points)} points, {len(plan.seeds)} seeds: {len(plan.points) * len(plan.seeds)} runs, "
        f"{left} of them still to be made; in {store.root}"
    )


def _tell(found: "Sweep", plan: "Plan", metrics: Many, outcomes: "Outcomes", *, as_json: bool, quiet: bool) -> None:
    """Show the points, draw the pictures, and name what must not be overlooked."""
    from pullnet.sweeps import data
    from pullnet.sweeps.sweep import METRICS, unknown

    measured = found.points.drop_nulls("mean")["metric"].unique().to_list()
    wrong = [unknown(name, found.metrics) for name in metrics or [] if found.runs.height and name not in found.metrics]
    if wrong:
        raise InputError(wrong)
    shown = [name for name in metrics or METRICS if name in measured]
    assert found.path is not None, "the command keeps what it makes"
    for name in shown:
        found.plot(name, found.path / f"{name.replace('/', '_')}.png")
    if as_json:
        typer.echo(json_text.dumps(_document(found, shown, outcomes)))
    elif not quiet:
        _show(found, shown)
        typer.echo(f"{found.runs.height} of {found.asked} runs, {outcomes.made} of them new; in {found.path}")
        for line in notes(found, data.without_effect(found.runs, plan.axes), plan):
            typer.echo(line)


def _show(found: "Sweep", metrics: list[str]) -> None:
    from rich.table import Table

    from pullnet.cli.console import Output
    from pullnet.sweeps.data import unit

    table = Table(box=None, pad_edge=False)
    for axis in found.axes:
        table.add_column(axis.path)
    table.add_column("runs", justify="right")
    for name in metrics:
        table.add_column(f"{name} ({unit(name)})" if unit(name) else name, justify="right")
    for at, cells in _rows(found, metrics):
        count = max((cell["runs"] + cell["missing"] for cell in cells if cell), default=0)
        table.add_row(*map(str, at), str(count), *map(_text, cells))
    if metrics:
        Output().print(table)


def _text(cell: dict[str, Any] | None) -> str:
    """Write a mean with its interval, and over how many runs it is where some have no value."""
    from pullnet.results.show import number

    if not cell or not cell["runs"]:
        return "-"
    mean = f"{number(cell['mean'])} ± {number(_half(cell))}"
    return f"{mean} ({cell['runs']} of {cell['runs'] + cell['missing']})" if cell["missing"] else mean


def _half(cell: dict[str, Any]) -> float | None:
    return None if cell["high"] is None else cell["high"] - cell["mean"]


def _rows(found: "Sweep", metrics: list[str]) -> "list[tuple[tuple[Any, ...], list[dict[str, Any] | None]]]":
    """Return each point with a cell for each metric."""
    paths = [axis.path for axis in found.axes]
    cells: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in found.points.iter_rows(named=True):
        cells.setdefault(tuple(row[path] for path in paths), {})[row["metric"]] = row
    return [(at, [here.get(name) for name in metrics]) for at, here in cells.items()]


def _document(found: "Sweep", metrics: list[str], outcomes: "Outcomes") -> dict[str, Any]:
    keys = ("runs", "missing", "mean", "sd", "low", "high", "unit")
    points = [
        {
            "at": dict(zip([axis.path for axis in found.axes], at, strict=True)),
            "metrics": {cell["metric"]: {key: cell[key] for key in keys} for cell in cells if cell},
        }
        for at, cells in _rows(found, metrics)
    ]
    counts = {"asked": found.asked, "there": found.runs.height, "new": outcomes.made, "failed": len(outcomes.errors)}
    return {"path": str(found.path), "runs": counts, "interrupted": outcomes.interrupted, "points": points}


def notes(found: "Sweep", unchanged: list[str], plan: "Plan") -> list[str]:
    """Return what a reader of the means must not overlook."""
    from collections import Counter

    lines = []
    warned = Counter(
        name for names in (found.runs["warnings"].to_list() if found.runs.height else []) for name in names.split(", ")
    )
    lines += [f"warning: {name} in {count} of {found.runs.height} runs" for name, count in warned.items() if name]
    if ("warnings.unchanged_result", "false") not in plan.silenced:
        lines += [f"warning: {path}: its values change no fingerprint [unchanged_result]" for path in unchanged]
    return lines


def _leave(found: "Sweep", outcomes: "Outcomes", *, waited: bool) -> None:
    """End with the exit code that tells how it went."""
    from pullnet.sweeps.sweep import failures

    if outcomes.errors:
        raise InputError(failures(outcomes))
    runs = found.runs
    bad = runs.height and (not runs["complete"].all() or runs["flows.failed"].sum() > 0)
    short = waited and runs.height < found.asked
    raise typer.Exit(ENDED_EARLY if bad or short or outcomes.interrupted else 0)
