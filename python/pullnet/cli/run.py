"""`pullnet run`."""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pullnet import _core, json_text
from pullnet.cli.options import out_directory
from pullnet.errors import InputError
from pullnet.results.directory import default_directory, refuse_existing, unfinished
from pullnet.results.result import Result
from pullnet.runs.progress import LINE_EVERY_S, LineProgress
from pullnet.runs.runner import Interruption, execute
from pullnet.runs.scenario import compiled, override_pairs, picoseconds
from pullnet.runs.stall import DEFAULT_AFTER, StallDetector

if TYPE_CHECKING:
    from pullnet.cli.terminal import TerminalProgress

ENDED_EARLY = 3

Scenarios = Annotated[
    list[Path],
    typer.Argument(metavar="SCENARIO...", help="Scenario files; - is standard input.", show_default=False),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Replace a setting, for instance topology.k=8; may be repeated.",
        show_default=False,
    ),
]
Seed = Annotated[
    int | None, typer.Option(min=0, max=2**63 - 1, help="Replace the scenario's seed.", show_default=False)
]


Silence = Annotated[
    list[str] | None,
    typer.Option(
        "--silence",
        metavar="WARNING",
        help="Give no warning of this name; `pullnet list warnings` has all of them. May be repeated.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Plan:
    """A scenario that has been checked, and where its result goes."""

    scenario: Path
    core: _core.Scenario
    out: Path
    stem: str
    """How the names of results of the same scenario and seed begin; empty where the place is the user's choice."""


@dataclass(frozen=True)
class Manner:
    """How runs are driven and shown."""

    settings: list[str]
    seed: int | None
    threads: int
    force: bool
    copy_inputs: bool
    quiet: bool
    stall_after_ps: int
    silence: list[str]


def run(
    scenarios: Scenarios,
    settings: Settings = None,
    seed: Seed = None,
    threads: Annotated[int, typer.Option(help="Threads of each run, 1 to 256; no result depends on them.")] = 1,
    out: Annotated[
        Path | None,
        out_directory(
            "Where the result goes; with several scenarios, the folder of their results. results/NAME-SEED if not "
            "given, and with --set a short hash of the settings; NAME is the scenario's name in small letters."
        ),
    ] = None,
    silence: Silence = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summaries as JSON: a list.")] = False,
    as_lines: Annotated[bool, typer.Option("--jsonl", help="Print each summary as a line of JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors, and JSON with --json.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result.")] = False,
    no_inputs: Annotated[
        bool, typer.Option("--no-inputs", help="Keep no copies of the scenario's files: name them by their full paths.")
    ] = False,
    stall_after: Annotated[
        str,
        typer.Option(metavar="TIME", help="Simulated time without any delivery after which stuck flows are named."),
    ] = DEFAULT_AFTER,
) -> None:
    """Run scenarios and write their results."""
    stall_after_ps = picoseconds("--stall-after", stall_after)
    manner = Manner(settings or [], seed, threads, force, not no_inputs, quiet, stall_after_ps, silence or [])
    results: list[Result] = []
    plans = _plans(scenarios, manner, out)
    interruption = Interruption()
    while plans and not interruption.asked:
        plan = plans.pop(0)
        try:
            result = _run(plan, manner, interruption)
        except KeyboardInterrupt:  # the second one, or it came before the run
            typer.echo(f"interrupted: {plan.scenario} has no result", err=True)
            raise typer.Exit(ENDED_EARLY) from None
        del plan  # a network that has been run is no longer held
        results.append(result.keep(set()))  # its tables are in its directory
        if as_lines:
            typer.echo(json_text.dumps(json.loads(results[-1].summary_json), indent=None))
        elif not as_json and not quiet:
            _show(results[-1])
    if as_json:
        typer.echo(json_text.dumps([json.loads(result.summary_json) for result in results]))
    if interruption.asked and not results[-1].summary.interrupted:
        typer.echo(f"interrupted: while {results[-1].path} was written, which is whole", err=True)
    for plan in plans:
        typer.echo(f"interrupted: {plan.scenario} was not run", err=True)
    raise typer.Exit(ENDED_EARLY if interruption.asked else _status(results))


def _plans(scenarios: list[Path], manner: Manner, out: Path | None) -> list[Plan]:
    """Check everything before anything runs; all errors at once."""
    plans: list[Plan] = []
    errors: list[str] = []
    for scenario in scenarios:
        try:
            core = compiled(scenario, set=manner.settings, seed=manner.seed, silence=manner.silence)
            plans.append(Plan(scenario, core, *_place(core, manner, out, alone=len(scenarios) == 1)))
            refuse_existing(plans[-1].out, force=manner.force)
        except InputError as error:
            errors += error.for_commands()
    errors += _clashes(plans)
    if errors:
        raise InputError(list(dict.fromkeys(errors)))
    _name_unfinished({plan.out.parent for plan in plans})
    return plans


def _place(core: _core.Scenario, manner: Manner, out: Path | None, *, alone: bool) -> tuple[Path, str]:
    """Where the result goes, and how the names of results of other settings begin."""
    if out is not None and alone:
        return out, ""
    parent = Path("results") if out is None else out
    place = default_directory(core.name, core.seed, parent, override_pairs(manner.settings))
    return place, default_directory(core.name, core.seed, parent).name


def _name_unfinished(folders: set[Path]) -> None:
    """Say where runs that were killed have left something."""
    for path in (path for folder in sorted(folders) for path in unfinished(folder)):
        typer.echo(f"note: {path} is what a run has left that was killed; remove it", err=True)


def _clashes(plans: list[Plan]) -> list[str]:
    """Two scenarios whose results would go to one place."""
    first: dict[Path, Plan] = {}
    for plan in plans:
        first.setdefault(plan.out, plan)
    remedy = "give them different names, or run them one by one with --out"
    return [
        f"{plan.scenario}: its result would go to {plan.out}, and so would that of {first[plan.out].scenario}; {remedy}"
        for plan in plans
        if first[plan.out] is not plan
    ]


def _run(plan: Plan, manner: Manner, interruption: Interruption) -> Result:
    with _progress(plan.core.name, quiet=manner.quiet) as progress:
        return execute(
            plan.core,
            threads=manner.threads,
            out=plan.out,
            force=manner.force,
            stall_after_ps=manner.stall_after_ps,
            interruption=interruption,
            watchers=[StallDetector(manner.stall_after_ps, progress.say), progress],
            copy_inputs=manner.copy_inputs,
            siblings=(plan.stem, [path for path, _ in override_pairs(manner.settings)]),
        )


# # Modules that only some runs need are imported on use: a large run needs the memory.


def _progress(name: str, *, quiet: bool) -> "LineProgress | TerminalProgress":
    if quiet or not sys.stderr.isatty():
        return LineProgress(name, math.inf if quiet else LINE_EVERY_S)
    from pullnet.cli.terminal import TerminalProgress

    return TerminalProgress(name)


def _show(result: Result) -> None:
    from pullnet.cli.console import Output
    from pullnet.results.show import show

    show(result, Output())


def _status(results: list[Result]) -> int:
    bad = any(not result.summary.complete or result.summary.flows.failed for result in results)
    return ENDED_EARLY if bad else 0
