"""Units in the names of columns: `total_Mb/s`, `in (MBps)`, `octets`."""

import re

MeantUnits = tuple[str, ...]
"""Units that a name may mean: none, one, or two that differ by a factor of about 8."""

_WORDS = {
    "byte": "bytes",
    "bytes": "bytes",
    "octet": "bytes",
    "octets": "bytes",
    "kbyte": "kB",
    "kbytes": "kB",
    "mbyte": "MB",
    "mbytes": "MB",
    "gbyte": "GB",
    "gbytes": "GB",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
    "bit": "bits",
    "bits": "bits",
    "kbit": "kbit",
    "kbits": "kbit",
    "mbit": "Mbit",
    "mbits": "Mbit",
    "gbit": "Gbit",
    "gbits": "Gbit",
}
"""Words for units, in any case."""

_ABBREVIATION = re.compile(r"(?P<prefix>[kKmMgG]?)(?P<letter>[bB])(?P<per>ps|PS|/s|/S|/sec|)")
_PER_SECOND = re.compile(r"(?P<volume>.+?)(?:/s|/sec|/second|ps)", re.IGNORECASE)
_PREFIXES = {"": ("bits", "bytes"), "k": ("kbit", "kB"), "m": ("Mbit", "MB"), "g": ("Gbit", "GB")}


def unit_of(name: str) -> str | None:
    """Return the unit that the last word of a column's name says; `None` if it says none, or may mean two."""
    units = units_meant(name)
    return units[0] if len(units) == 1 else None


def units_meant(name: str) -> MeantUnits:
    """Return the units that the last word of a column's name may mean.

    The case of the b decides between bits and bytes: `Mb/s` are megabits, `MB/s` megabytes. `mbps` and `kbps` are bits,
    as everywhere. `mb`, `mb/s` and `MBPS` are in use for both, so that nothing is decided.
    """
    words = [word for word in re.split(r"[_ ()\[\]{},:;.-]+", name.strip()) if word]
    while len(words) > 1 and words[-1].lower() in ("total", "sum"):
        words.pop()
    per_second = False
    for ending in (("per", "second"), ("per", "sec"), ("per", "s")):
        if len(words) > 2 and tuple(word.lower() for word in words[-2:]) == ending:
            words, per_second = words[:-2], True
    return _meant(words[-1], per_second=per_second) if words else ()


def _meant(word: str, *, per_second: bool) -> MeantUnits:
    if (unit := _word(word)) is not None:
        return (_rate(unit) if per_second and not unit.endswith("/s") else unit,)
    match = _ABBREVIATION.fullmatch(word)
    if match is None or (not match["prefix"] and not match["per"]):
        return ()
    volumes = _PREFIXES[match["prefix"].lower()]
    units = tuple(_rate(unit) if match["per"] or per_second else unit for unit in volumes)
    return _by_case(match, units)


def _word(word: str) -> str | None:
    lower = word.lower()
    if lower.endswith("ib") and not word.endswith("B"):
        return None  # Mib may be mebibits
    if lower in _WORDS:
        return _WORDS[lower]
    match = _PER_SECOND.fullmatch(lower)
    return _rate(_WORDS[match["volume"]]) if match and match["volume"] in _WORDS else None


def _by_case(match: re.Match[str], units: MeantUnits) -> MeantUnits:
    prefix, letter, per = match["prefix"], match["letter"], match["per"]
    if letter == "B":
        return units if per == "PS" else units[1:]
    shouted = prefix.isupper()
    if per.lower() == "ps" or shouted or not prefix:
        return units[:1]
    return units


def _rate(volume: str) -> str:
    return "bit/s" if volume == "bits" else f"{volume}/s"
