"""Pages that are made from the code: commands, the Python API, the C header, the list of protocols."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import typer
from site_pages import PROTOCOLS, ROOT, PageError, fence

import pullnet
from pullnet.cli.app import app
from pullnet.cli.manual import commands

MODULES = ("pullnet", "pullnet.traffic", "pullnet.codes", "pullnet.host", "pullnet.switch", "pullnet.testbed")
"""Modules of the Python reference, one page each."""


def command_page() -> str:
    """Return the page of all commands with their options, examples and exit codes."""
    head = [
        "# Commands",
        "",
        "Made from the commands themselves. `pullnet COMMAND --help` shows the same, and",
        "[Completion and man pages](../how-to/shell.md) brings both into a shell.",
        "",
    ]
    sections = [_command(words, command) for words, command in commands(typer.main.get_command(app), ("pullnet",))]
    return "\n".join([*head, *sections])


def _command(words: tuple[str, ...], command: Any) -> str:
    context = typer.Context(command, info_name=" ".join(words))
    usage = " ".join([*words, *command.collect_usage_pieces(context)])
    records = [record for param in command.get_params(context) if (record := param.get_help_record(context))]
    rows = [f"| `{_cell(names)}` | {_cell(help)} |" for names, help in records]
    table = ["| argument or option | meaning |", "|---|---|", *rows, ""] if rows else []
    help_text = (command.help or "").replace("\b\n", "")
    return "\n".join(
        [f"## {' '.join(words)}", "", help_text, "", "```text", usage, "```", "", *table, *_epilog(command), ""]
    )


def _epilog(command: Any) -> Iterator[str]:
    for paragraph in (command.epilog or "").split("\n\n"):
        head, _, body = paragraph.removeprefix("\b\n").partition("\n")
        if head == "Examples:":
            yield "\n".join(["```text", *(line.removeprefix("  ") for line in body.splitlines()), "```"])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def python_page(name: str) -> str:
    """Return the page of a module: everything that it exports, taken from the docstrings."""
    module = importlib.import_module(name)
    lines = [f"# {name}", "", (module.__doc__ or "").partition(">>>")[0].strip(), ""]
    return "\n".join([*lines, *(f"::: {_home(module, each)}\n" for each in _exported(module))])


def _exported(module: ModuleType) -> list[str]:
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return [name for name in names if name != "__version__"]


def _home(module: ModuleType, name: str) -> str:
    """Return the full name of an export where it is defined."""
    value = getattr(module, name)
    home = getattr(value, "__module__", None) or ""
    if home.startswith("pullnet") and hasattr(value, "__qualname__"):
        return f"{home}.{value.__qualname__}"
    return f"{getattr(module, '_LAZY', {}).get(name, module.__name__)}.{name}"


def header_page() -> str:
    """Return the page of the C header."""
    header = ROOT / "crates" / "linux" / "capi" / "include" / "pullnet.h"
    head = "# C\n\n`libpullnet` gives streams of NDP to programs in C; [Hosts](../host.md) shows one. Its header:\n\n"
    return head + fence(header.read_text(encoding="utf-8"), header) + "\n"


_VARIANTS = {"rcp": "d3", "polyraptor": "scdp"}
"""Protocols that are described on the page of another one."""


def page_of(protocol: str) -> str:
    """Return the name of the page that describes a protocol."""
    return _VARIANTS.get(protocol, protocol)


def protocols_page() -> str:
    """Return the list of protocols, each with its page if it has one."""
    lines = ["# Protocols", "", "Each page says which rules are built, from which source, and where they differ.", ""]
    lines += ["| protocol | what it is |", "|---|---|"]
    for name, summary in pullnet.catalogue("protocols").items():
        page = PROTOCOLS / page_of(name) / "README.md"
        if not page.is_file():
            raise PageError(f"{page}: is not there; every protocol has a page, or is named in _VARIANTS")
        lines.append(f"| [`{name}`]({page.parent.name}.md) | {summary} |")
    return "\n".join(lines) + "\n"
