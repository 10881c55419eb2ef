"""`pullnet completion`: what a shell needs to complete commands, options and files."""

from typing import Annotated, Any, Literal

import typer

from pullnet.cli.help import epilog

ASKED = "_PULLNET_COMPLETE"
"""The environment variable that a shell sets to request completions."""

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
    from typer._completion_classes import ZshComplete
    from typer.completion import completion_init  # type: ignore[attr-defined]

    formatted = ZshComplete.format_completion

    def with_apostrophes(self: ZshComplete, item: Any) -> str:
        # typer writes each apostrophe twice, which ends the quotes of zsh and begins others: it shows none.
        return formatted(self, item).replace("''", "'\\''")

    ZshComplete.format_completion = with_apostrophes  # type: ignore[method-assign]
    completion_init()


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="One of bash, zsh, fish.", show_default=False)],
) -> None:
    """Print a script that makes a shell complete commands, options and files."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name="pullnet", complete_var=ASKED, shell=shell)
    typer.echo(script.replace(_REGISTER, _ANSWER) if shell == "zsh" else script)


EPILOG = epilog(
    "pullnet completion bash > ~/.local/share/bash-completion/completions/pullnet",
    "pullnet completion zsh > ~/.zfunc/_pullnet  # ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit; compinit",
    "pullnet completion fish > ~/.config/fish/completions/pullnet.fish",
)
