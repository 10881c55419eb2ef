"""`pullnet manual`: the help of every command as pages for `man`, made from the commands themselves."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from pullnet import __version__
from pullnet.cli.help import epilog
from pullnet.errors import InputError

EPILOG = epilog("pullnet manual ~/.local/share/man/man1 && man pullnet-run")


def manual(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where the pages go; made if it is missing.", show_default=False)
    ],
) -> None:
    """Write a man page for every command.

    The pages are DIR/pullnet-run.1 and so on.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        count = 0
        for words, command in commands(context.find_root().command, ("pullnet",)):
            (folder / f"{'-'.join(words)}.1").write_text(page(words, command), encoding="utf-8")
            count += 1
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written: {error.strerror}; choose another place") from None
    typer.echo(f"{count} pages written to {folder}")


def commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a command and all commands within it, each with its words."""
    yield words, command
    if hasattr(command, "list_commands"):
        context = typer.Context(command, info_name=words[-1])
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*words, name))


def page(words: tuple[str, ...], command: Any) -> str:
    """Return the page of one command."""
    context = typer.Context(command, info_name=" ".join(words))
    name, usage = "-".join(words), " ".join(command.collect_usage_pieces(context))
    short = command.get_short_help_str(200).rstrip(".")
    parts = [
        f'.TH "{_quoted(name.upper())}" 1 "" "pullnet {__version__}" "pullnet"',
        f".SH NAME\n{_text(name)} \\- {_text(short)}",
        f".SH SYNOPSIS\n.B {_text(' '.join(words))}\n{_text(usage)}",
        f".SH DESCRIPTION\n{_paragraphs(command.help or short)}",
        *_options(command, context),
        *_within(command, context, name),
        *_epilog(command),
    ]
    return "\n".join(parts) + "\n"


def _options(command: Any, context: Any) -> Iterator[str]:
    records = [record for param in command.get_params(context) if (record := param.get_help_record(context))]
    if records:
        yield ".SH OPTIONS"
        yield from (f".TP\n.B {_text(names)}\n{_text(help) or chr(92) + chr(38)}" for names, help in records)


def _within(command: Any, context: Any, name: str) -> Iterator[str]:
    if not hasattr(command, "list_commands"):
        return
    yield ".SH COMMANDS"
    for inner in command.list_commands(context):
        short = command.get_command(context, inner).get_short_help_str(200)
        yield f".TP\n.BR {_text(name)}\\-{_text(inner)} (1)\n{_text(short)}"


def _epilog(command: Any) -> Iterator[str]:
    for paragraph in (command.epilog or "").split("\n\n"):
        head, _, body = paragraph.removeprefix("\b\n").partition("\n")
        if body:
            yield f".SH {_text(head.rstrip(':').upper())}\n.nf\n{_lines(body)}\n.fi"


def _paragraphs(text: str) -> str:
    return "\n.PP\n".join(_text(" ".join(part.split())) for part in text.split("\n\n") if part.strip())


def _lines(text: str) -> str:
    return "\n".join(_text(line.removeprefix("  ")) for line in text.splitlines())


def _text(text: str) -> str:
    """Escape what roff would take for its own."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _quoted(text: str) -> str:
    return text.replace('"', '""')
