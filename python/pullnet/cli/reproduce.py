"""`pullnet reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from pullnet.cli.options import out_directory
from pullnet.errors import InputError


def _papers(incomplete: str) -> list[str]:
    """Return the papers, and behind a slash the figures of one, that begin so."""
    from pullnet.papers import model

    name, slash, _ = incomplete.partition("/")
    if not slash:
        return [paper for paper in model.names() if paper.startswith(incomplete)]
    if name not in model.names():
        return []  # a folder of one's own: the shell completes files
    figures = sorted({claim.figure for claim in model.load(name).claims})
    return [found for figure in figures if (found := f"{name}/{figure}").startswith(incomplete)]


def reproduce(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER[/FIGURE]]",
            help="A paper, or one figure of it; a folder with a paper.toml is one of your own. Without it, papers are "
            "listed with the number of their runs and the time that these take here.",
            show_default=False,
            autocompletion=_papers,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run all papers of the list, one after another.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Under ten minutes on two cores: shorter, fewer runs.")
    ] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help="Under a minute: a few short runs.")] = False,
    seeds: Annotated[
        str | None, typer.Option(metavar="LIST", help="Seeds, such as 1,2,5 or 1..50.", show_default=False)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the verdicts, or the list of papers, as JSON.")
    ] = False,
    out: Annotated[
        Path | None, out_directory("Where runs, figures and verdicts go; runs that are there are not repeated.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, max=256, help="Runs side by side; as many as there are processors."),
    ] = None,
) -> None:
    """Run a paper's experiments and check its claims.

    Without a paper, lists the papers.
    """
    # Figures and statistics are large libraries that no other command needs.
    from pullnet.cli import papers
    from pullnet.sweeps.local import processors

    if quick and smoke:
        raise InputError("--quick and --smoke: use one of them")
    if what is not None and everything:
        raise InputError(f"{what} and --all: use one of them")
    if what is None and not everything:
        if quick or smoke or not (seeds is None and out is None and jobs is None):
            raise InputError(
                "PAPER: is missing; name a paper, or run every one by --all; `pullnet reproduce` lists them"
            )
        papers.overview(processors(), as_json=as_json)
        return
    level = "smoke" if smoke else "quick" if quick else "full"
    papers.reproduce(what, level, seeds, out, jobs or processors(), as_json=as_json)
