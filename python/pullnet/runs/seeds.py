"""Lists of seeds as a user writes them."""

from pullnet.errors import InputError

MOST_SEEDS = 100_000
"""Maximum number of seeds in one call: the whole set of runs is repeated for each."""


def parse_seeds(text: str) -> list[int]:
    """Read "1,2,5" or "1..50"."""
    ranges = [_seed_range(text, part) for part in text.split(",")]
    # The length of a range is its own: `len` fails for more than 2^63 - 1.
    count = sum(max(0, each.stop - each.start) for each in ranges)
    if count > MOST_SEEDS:
        raise InputError(f"--seeds {text}: names {count} seeds; use at most {MOST_SEEDS}")
    seeds = [seed for each in ranges for seed in each]
    if not seeds or min(seeds) < 0:
        raise InputError(f"--seeds {text}: names no seed; write for instance 1,2,5 or 1..50")
    if max(seeds) >= 2**63:
        raise InputError(f"--seeds {text}: {max(seeds)} is too large; use seeds up to {2**63 - 1}")
    return seeds


def _seed_range(text: str, part: str) -> range:
    first, dots, last = part.strip().partition("..")
    try:
        return range(int(first), int(last if dots else first) + 1)
    except ValueError:
        raise InputError(f"--seeds {text}: is not a list of seeds; write for instance 1,2,5 or 1..50") from None
