"""Results as JSON: what is printed, written and sent."""

import json
import math
from collections.abc import Mapping
from typing import Any


def dumps(document: object, *, indent: int | None = 2) -> str:
    """Write `document`; numbers that JSON has not become null, and what is no Unicode in a name its escape."""
    text = json.dumps(known(document), indent=indent, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def known(value: Any) -> Any:
    """The same in lists and dictionaries, with `None` for every number that is not finite."""
    if isinstance(value, Mapping):
        return {key: known(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [known(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
