"""Worker processes that import the script of the user, also a script that starts them at its top level."""

ADVICE = (
    "Workers import the script that makes them: it has to be a file, with the call below "
    '`if __name__ == "__main__":`. If it is, memory may be short: use fewer workers'
)
"""Advice for errors of workers that end before their work does."""


def leave_if_importing() -> None:
    """End this process if it is a worker that imports a script which starts workers at its top level.

    Python refuses to start processes from there, with a long traceback from each worker. The process that made this
    worker finds its pool broken, and raises `InputError` with `ADVICE`.
    """
    import multiprocessing  # a run does without

    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)
