"""`pullnet completion`: what a shell needs to complete commands, options and files."""

from typing import Annotated, Literal

import typer

from pullnet.cli.help import epilog

ASKED = "_PULLNET_COMPLETE"
"""The environment variable that a shell sets to request completions."""

_RETURN = "    return 0"
_REGISTER = "compdef _pullnet_completion pullnet"
_ANSWER = f"""# zsh reads a file in fpath at the first Tab: answer that one, too.
if [ "$funcstack[1]" = "_pullnet" ]; then
  _pullnet_completion "$@"
else
  {_REGISTER}
fi"""

Shell = Literal["bash", "zsh", "fish"]


def prepare() -> None:
    """Teach typer the shells: done only when one asks, since every other command does without."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    from pullnet.cli import shells

    completion_init()
    shells.register()


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="One of bash, zsh, fish.", show_default=False)],
) -> None:
    """Print a script for completion in a shell.

    Commands, options and files are completed.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    from pullnet.cli.shells import NO_FILES

    script = get_completion_script(prog_name="pullnet", complete_var=ASKED, shell=shell)
    if shell == "zsh":
        script = script.replace(_REGISTER, _ANSWER)
    elif shell == "bash":
        script = script.replace(_RETURN, f"    [ $? -eq {NO_FILES} ] && compopt +o default\n{_RETURN}")
    typer.echo(script)


EPILOG = epilog(
    "pullnet completion bash > ~/.local/share/bash-completion/completions/pullnet",
    "pullnet completion zsh > ~/.zfunc/_pullnet  # ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit; compinit",
    "pullnet completion fish > ~/.config/fish/completions/pullnet.fish",
)
