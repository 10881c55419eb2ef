"""`pullnet wireshark`: the dissector that makes Wireshark and tshark read the packets of pullnet."""

import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from pullnet.cli.help import epilog
from pullnet.errors import InputError
from pullnet.files import whole

EPILOG = epilog(
    "pullnet wireshark",
    "tshark -r capture.pcapng -Y 'pullnet.fate == \"trimmed\"'",
    "pullnet wireshark . && tshark -X lua_script:pullnet.lua -r capture.pcapng",
)


def wireshark(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="Where pullnet.lua goes; without it the folder of personal plugins.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the dissector for Wireshark and tshark: DIR/pullnet.lua.

    Both then read packets of pullnet. The dissector needs Wireshark 4.0 or newer, which reads the folder of personal
    plugins when it starts.
    """
    file = (folder or _personal_plugins()) / "pullnet.lua"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole(file):
            file.write_text(dissector(), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}; name another folder") from None
    typer.echo(f"{file} written")


def dissector() -> str:
    """Return the dissector, a program in Lua."""
    return files("pullnet").joinpath("wireshark/pullnet.lua").read_text(encoding="utf-8")


def _personal_plugins() -> Path:
    """Return the folder that Wireshark reports; its default where Wireshark is not installed."""
    for program in ("tshark", "wireshark"):
        if path := shutil.which(program):
            said = subprocess.run([path, "-G", "folders"], capture_output=True, text=True, check=False).stdout
            if found := re.search(r"^Personal Lua Plugins:\s*(\S.*)$", said, re.MULTILINE):
                return Path(found[1].strip())
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", "~")).expanduser() / "Wireshark" / "plugins"
    return Path("~/.local/lib/wireshark/plugins").expanduser()
