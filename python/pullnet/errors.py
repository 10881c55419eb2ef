"""Errors, by the party at fault."""


class PullnetError(Exception):
    """Anything that pullnet raises on purpose."""


class InputError(PullnetError, ValueError):
    """The input is wrong: a scenario, an option, a place to write to. All errors at once.

    `keyword` is the name of the argument that is wrong: errors begin with it, as `threads: `.
    """

    def __init__(self, errors: list[str] | str, *, keyword: str = "") -> None:
        listed = [errors] if isinstance(errors, str) else errors
        self.keyword = keyword
        self.errors = [f"{keyword}: {error}" for error in listed] if keyword else listed
        super().__init__(self.errors)

    def for_commands(self) -> list[str]:
        """Return the errors with the name of the option for that of the keyword: `--threads: ` for `threads: `."""
        if not self.keyword or self.keyword.startswith("--"):
            return self.errors
        option = f"--{self.keyword.replace('_', '-')}: "
        return [error.replace(f"{self.keyword}: ", option, 1) for error in self.errors]

    def __str__(self) -> str:
        return "\n".join(self.errors)


class NotRecordedError(PullnetError, LookupError, AttributeError):
    """A table that the run was not asked to keep; an `AttributeError`, so that `hasattr(result, "latency")` answers."""

    def __str__(self) -> str:
        return str(self.args[0])


class HostError(PullnetError):
    """A stream has failed, or the daemon that serves it.

    `code` is the reason in a word or two, as in C and Go: "refused", "reset", "silent", "full", "closed",
    "service taken", "no listener", "family", "unreachable", "timed out", "stopped", "argument", "no key" or "failed".
    """

    def __init__(self, message: str, code: str = "failed") -> None:
        self.code = code
        super().__init__(message)


class PullnetWarning(UserWarning):
    """A result that probably is not what it seems: `pullnet.run` gives each warning of its summary as one of these.

    `warnings.filterwarnings("ignore", category=pullnet.PullnetWarning)` silences all, `silence=` one by its name.
    """


class InternalError(PullnetError):
    """A fault of pullnet itself."""
