"""Runs whose settings differ and whose fingerprints do not: what was changed has no effect."""

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pullnet import json_text
from pullnet.results.result import Result
from pullnet.results.summary import Notice

NAME = "unchanged_result"

_WITHOUT_EFFECT = re.compile(
    r"(name|description|duration|until|limit|(measure|probes|warnings|inputs)\..*|traffic\.\d+\.(tag|file|sizes\.file))"
)
"""Settings that are not meant to change what happens, or only for how long."""

_ON_LINUX = "0" * 16


def checked(result: Result, folder: Path, stem: str, own: Sequence[str]) -> Result:
    """Compare a run with results in `folder` whose names begin with `stem`: those of the same scenario and seed.

    Returns it with a warning in its summary if one of them has the same fingerprint and differs in the settings `own`.
    """
    if not own or not _gives(result.scenario):
        return result
    for other in sorted(folder.glob(f"{stem}*")):
        try:
            summary = json.loads((other / "summary.json").read_text(encoding="utf-8"))
            text = (other / "scenario.toml").read_text(encoding="utf-8")
            same = summary["fingerprint"] == result.summary.fingerprint != _ON_LINUX
            changed = [key for key in differing(result.scenario, text) if _is_of(own, key)] if same else []
        except (OSError, ValueError, KeyError, TypeError):
            continue  # no result, or one of another version
        if changed:
            return _with(result, Notice(NAME, "", ", ".join(changed), _message(str(other))))
    return result


def _is_of(own: Sequence[str], key: str) -> bool:
    return any(key == path or key.startswith(f"{path}.") for path in own)


def unchanged_jobs(results: Sequence[Result]) -> Iterator[str]:
    """Say which of `results` have the fingerprint of an earlier one although their settings differ."""
    first: dict[str, Result] = {}
    for result in results:
        before = first.setdefault(result.summary.fingerprint, result)
        changed = differing(result.scenario, before.scenario) if before is not result else []
        if changed and result.summary.fingerprint != _ON_LINUX and _gives(result.scenario):
            yield str(Notice(NAME, "", ", ".join(changed), _message("an earlier job")))


def _with(result: Result, found: Notice) -> Result:
    document = json.loads(result.summary_json)
    document["warnings"].append(vars(found))
    return result.noticed(json_text.dumps(document) + "\n")


def differing(one: str, other: str) -> list[str]:
    """Settings of two resolved scenarios that differ and that are meant to change what happens."""
    left, right = (dict(_flat(tomllib.loads(text))) for text in (one, other))
    keys = [key for key in {**left, **right} if left.get(key) != right.get(key)]
    return [key for key in keys if not _WITHOUT_EFFECT.fullmatch(key)]


def _gives(scenario: str) -> bool:
    given: bool = tomllib.loads(scenario).get("warnings", {}).get(NAME, True)
    return given


def _message(other: str) -> str:
    return (
        f"{other} has the same fingerprint although these settings differ: they changed nothing; "
        "check that they are the ones you meant"
    )


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else None
    if items is None:
        yield path, value
        return
    for key, inner in items:
        yield from _flat(inner, f"{path}.{key}" if path else str(key))
