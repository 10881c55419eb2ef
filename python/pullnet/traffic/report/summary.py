"""The summary of a report in three sentences: what was measured, which law it follows, how large the link must be."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from pullnet.traffic.dimensioning import Dimensioning
from pullnet.traffic.fitting import Fitting
from pullnet.traffic.quantities import shown_rate, shown_time
from pullnet.traffic.report.figures import LINES_AT, dated
from pullnet.traffic.studies import Item, Study
from pullnet.traffic.volumes import State


def sentences(study: Study) -> list[str]:
    """Return the three sentences."""
    return [_measured(study), _law(study), _capacity(study)]


def _measured(study: Study) -> str:
    traces = {item.volumes.trace: item for item in study.items}
    scales = sorted({item.volumes.timescale for item in study.items})
    many = f"{len(traces)} traces" if len(traces) > 1 else f"The trace {next(iter(traces))}"
    verb = "were" if len(traces) > 1 else "was"
    when = _span([item for item in traces.values() if dated(item)])
    means = [_mean(item) for item in traces.values()]
    rates = shown_rate(means[0]) if len(means) == 1 else f"{shown_rate(min(means))} to {shown_rate(max(means))}"
    lengths = ", ".join(shown_time(scale) for scale in scales)
    return f"{many} {verb} measured{when} in intervals of {lengths}, with a mean rate of {rates}."


def _span(items: list[Item]) -> str:
    if not items:
        return ""
    first = min(item.volumes.start for item in items)
    last = max(item.volumes.start + len(item.volumes) * item.volumes.timescale for item in items)
    begin, end = (f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M}" for time in (first, last))
    return f" from {begin} to {end} (UTC)"


def _mean(item: Item) -> float:
    rates = item.volumes.rates()[item.volumes.state != State.GAP]
    return float(rates.mean()) if len(rates) else 0.0


def _law(study: Study) -> str:
    fittings = study.fittings
    laws = Counter(each.whole.best for each in fittings if each.fits)
    strange = sum(bool(each.anomalies) for each in fittings)
    unlike = len(fittings) - sum(laws.values()) - strange
    parts = [f"the {law} describes {count}" for law, count in laws.most_common()]
    parts += [f"{strange} {_have(strange)} a mass of intervals near zero or at the capacity, as no law does"] * (
        strange > 0
    )
    parts += [f"no law describes {unlike}"] * (unlike > 0)
    missing = len(study.items) - len(fittings)
    parts += [f"{missing} could not be fitted"] * (missing > 0)
    count = len(study.items)
    return f"Of {count} series: {'; '.join(parts)}." if count > 1 else f"{_alone(fittings[0])}"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _alone(fitting: Fitting) -> str:
    return fitting.verdict.partition(" The tail above")[0]


def _capacity(study: Study) -> str:
    """Of the trace that needs most, each at its own finest timescale: files may have others."""
    sized = [item.dimensioning for item in study.items if item.dimensioning]
    if not sized:
        return "How large the link must be could not be told."
    eps = nearest(sized[0])
    finest = {each.trace: each for each in sorted(sized, key=lambda each: each.timescale, reverse=True)}
    most = max(finest.values(), key=lambda each: each.of("empirical", eps).capacity)
    law, data = most.of("log-normal", eps), most.of("empirical", eps)
    whose = f" of {most.trace}, which needs most," if len(finest) > 1 else ""
    return (
        f"So that at most {100 * eps:g} % of the intervals of {shown_time(most.timescale)}{whose} need more than the "
        f"link carries, it has to carry {shown_rate(data.capacity)} by the data and {shown_rate(law.capacity)} by the "
        f"log-normal law, which {100 * law.exceeded:.2g} % of the measured intervals reached."
    )


def nearest(found: Dimensioning) -> float:
    """Return the share whose capacities are shown first."""
    return min((each.eps for each in found.capacities), key=lambda eps: abs(eps - LINES_AT))


def capacities(study: Study) -> Iterator[dict[str, Any]]:
    """Return a row for each series: its capacities by rule."""
    for item in study.items:
        found = item.dimensioning
        if found is None:
            continue
        eps = nearest(found)
        yield {
            "trace": found.trace,
            "timescale": found.timescale,
            "mean": found.mean,
            "eps": eps,
            "rules": {each.rule: each.capacity for each in found.capacities if each.eps == eps},
        }
