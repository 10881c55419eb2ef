"""Element of a Slurm array: `python -m pullnet.sweeps.array FOLDER LIST ELEMENT COUNT`."""

import json
import sys
from pathlib import Path

from pullnet.errors import PullnetError
from pullnet.sweeps.plan import Point
from pullnet.sweeps.store import Store
from pullnet.sweeps.work import Task, carry_out


def main(root: str, listed: str, element: str, count: str) -> int:
    """Make the runs of one element that are not there yet. Returns how many could not be made."""
    store, listing = Store(Path(root)), json.loads(Path(listed).read_text(encoding="utf-8"))
    failed = 0
    for run in listing["runs"][int(element) :: int(count)]:
        key, keep = run["key"], tuple(listing["keep"])
        if store.load(key, keep) is not None:
            continue
        try:
            _make(store, run, keep, listing)
            print(f"{key}: done", flush=True)
        except PullnetError as error:
            lines = str(error).splitlines()
            store.fail(key, lines)
            print(*(f"{key}: {line}" for line in lines), sep="\n", flush=True)
            failed += 1
    return failed


def _make(store: Store, run: "dict[str, object]", keep: tuple[str, ...], listing: "dict[str, object]") -> None:
    point, seed, threads = str(run["point"]), int(str(run["seed"])), int(str(listing["threads"]))
    core, place = str(listing["core"]), store.scenario(point)
    record = carry_out(Task(Point({}, point, "", {}), seed, str(run["key"]), keep, threads, core, place))
    assert record is not None, "nothing stops a run without a limit to its time"
    store.save(record)


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:5]) else 0)
