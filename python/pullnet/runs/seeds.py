"""Lists of seeds as a user writes them."""

import itertools
from collections import Counter
from collections.abc import Iterable
from numbers import Integral

from pullnet.errors import InputError

MOST_SEEDS = 100_000
"""Maximum number of seeds in one call: the whole set of runs is repeated for each."""


def parse_seeds(text: str) -> list[int]:
    """Read "1,2,5" or "1..50"."""
    ranges = [_seed_range(text, part) for part in text.split(",")]
    # The length of a range is its own: `len` fails for more than 2^63 - 1.
    count = sum(each.stop - each.start for each in ranges)
    if count > MOST_SEEDS:
        raise InputError(f"--seeds {text}: names {count} seeds; use at most {MOST_SEEDS}")
    seeds = [seed for each in ranges for seed in each]
    if min(seeds) < 0:
        raise InputError(f"--seeds {text}: names no seed; write for instance 1,2,5 or 1..50")
    if max(seeds) >= 2**63:
        raise InputError(f"--seeds {text}: {max(seeds)} is too large; use seeds up to {2**63 - 1}")
    return seeds


def _seed_range(text: str, part: str) -> range:
    first, dots, last = part.strip().partition("..")
    try:
        seeds = range(int(first), int(last if dots else first) + 1)
    except ValueError:
        raise InputError(f"--seeds {text}: is not a list of seeds; write for instance 1,2,5 or 1..50") from None
    if seeds.stop <= seeds.start:
        raise InputError(
            f"--seeds {text}: {part.strip()} is an empty range; write the smaller seed first, for instance 1..50"
        )
    return seeds


def seeds_of(given: Iterable[int] | str) -> list[int]:
    """Check seeds; none is used twice."""
    seeds = parse_seeds(given) if isinstance(given, str) else list(itertools.islice(given, MOST_SEEDS + 1))
    wrong = [
        seed for seed in seeds if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**63
    ]
    if wrong or not 0 < len(seeds) <= MOST_SEEDS:
        problem = f"{wrong[0]!r} is no seed" if wrong else f"names {'none' if not seeds else 'too many'}"
        raise InputError(f"--seeds: {problem}; use 1 to {MOST_SEEDS} numbers from 0 to {2**63 - 1}")
    if len(set(seeds)) < len(seeds):
        twice = Counter(seeds).most_common(1)[0][0]
        raise InputError(f"--seeds: {twice} is named twice and would count twice; name each seed once")
    return [int(seed) for seed in seeds]
