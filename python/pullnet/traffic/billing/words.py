"""A bill in plain words."""

from collections.abc import Iterator
from fractions import Fraction

from pullnet.arguments import typed
from pullnet.traffic.billing.bill import SUMMARIES, Bill, Line, Rule
from pullnet.traffic.billing.headroom import Headroom, headroom
from pullnet.traffic.billing.money import MEGABIT, Money, Price, rounded
from pullnet.traffic.billing.percentile import Rank
from pullnet.traffic.billing.slots import Gaps, Slots, slot_times
from pullnet.traffic.quantities import shown_time


@typed
def explain(bill: Bill) -> str:
    """Return one paragraph: how many slots, how many discarded, which one is billed, when it was, what it costs."""
    return " ".join(_sentences(bill))


def mbps(rate: Fraction | int) -> str:
    """Return "412.33 Mbit/s"."""
    return f"{rounded(Fraction(rate) / MEGABIT, 2):,} Mbit/s"


def _sentences(bill: Bill) -> Iterator[str]:
    period = bill.period
    when = f"{period.name} ({period.zone})" if period.name else f"{period.clock(period.start)} to {_end(bill)}"
    yield f"{bill.link}, {when}: the period has {period.count:,} slots of {shown_time(period.slot)}."
    for name, each in bill.directions.items():
        yield from _counted(bill, name, each)
    yield (
        f"The bytes of a slot, times 8 and divided by its {period.slot:g} seconds, are its rate. "
        f"By the rule `{bill.terms.rule}`, {SUMMARIES[bill.terms.rule]}."
    )
    for line in bill.considered:
        yield _taken(bill, line)
    if bill.terms.rule is Rule.LARGER and len(bill.considered) > 1:
        yield f"The larger of the two, {bill.lines[0].name}, is billed."
    if bill.to_come:
        yield "The period is not over, so that this is how it stands and not the bill."
    if bill.terms.price is not None and bill.amount is not None:
        yield from _paid(bill, bill.terms.price, bill.amount)
    for room in headroom(bill):
        yield left(bill, room)


def _end(bill: Bill) -> str:
    return bill.period.clock(bill.period.end)


def _counted(bill: Bill, name: str, each: Slots) -> Iterator[str]:
    known = int(each.known.sum())
    missing = each.come - int(each.known[: each.come].sum())
    yield f"{name.capitalize()} traffic ({each.trace}) was measured in full for {_slots(known)}."
    if missing:
        fate = "counted with what is known of them, or as no traffic" if bill.terms.gaps is Gaps.ZERO else "left out"
        parts = f" ({each.partial} of them in part)" if each.partial else ""
        yield f"{_slots(missing).capitalize()} with gaps{parts} {'was' if missing == 1 else 'were'} {fate}."
    if each.come < bill.period.count:
        rest = _slots(bill.period.count - each.come)
        yield f"{rest.capitalize()} after the last measurement are taken as still to come."
    if each.shifted:
        yield "The measurements do not begin on the slots of the clock; each counts in the slot in which it begins."
    if each.outside:
        yield f"{each.outside:,} measurements outside the period were not used."


def _taken(bill: Bill, line: Line) -> str:
    percent = f"{float(bill.terms.percentile * 100):g}"
    top = f"Of the {len(line.values):,} slots that count, sorted by the rate of {line.name}, "
    top += f"the {line.discarded:,} highest were discarded" if line.discarded else "none was discarded"
    if bill.terms.rank is Rank.INTERPOLATED and len(line.billed) == 2:
        lower, upper = (_when(bill, index) for index in line.billed)
        return (
            f"{top}; the {percent}th percentile lies between the next two ({upper}, and {lower}) and is "
            f"{mbps(line.rate)}."
        )
    when = _when(bill, line.billed[0])
    return f"{top}; the next one, {mbps(line.rate)}, measured {when}, is the {percent}th percentile."


def _when(bill: Bill, index: int) -> str:
    begin, end = slot_times(bill.period, index)
    return f"from {begin} to {end}"


def _paid(bill: Bill, price: Price, amount: Money) -> Iterator[str]:
    # Without a currency no second space is left.
    committed, overage = (f"{each} {price.currency}".rstrip() for each in (price.committed, price.overage))
    for line in bill.lines:
        if not bill.terms.commitment:
            yield f"{mbps(line.rate)} at {committed} for a Mbit/s."
            continue
        beyond = max(Fraction(0), line.rate - bill.terms.commitment)
        yield f"Committed are {mbps(bill.terms.commitment)} at {committed} for a Mbit/s, used or not."
        yield (
            f"{mbps(beyond)} go beyond, at {overage} for a Mbit/s."
            if beyond
            else f"The {mbps(line.rate)} do not go beyond."
        )
    yield f"To be paid: {amount}, rounded half up once, at the end; the rate is not rounded before."


def left(bill: Bill, room: Headroom) -> str:
    """Say how far the commitment is."""
    commitment = mbps(bill.terms.commitment)
    if room.left < 0:
        return (
            f"{room.line.capitalize()}: {_slots(room.above)} lie above the commitment of {commitment}, "
            f"{-room.left:,} more than the {room.allowed:,} that cost nothing."
        )
    until = "by the end of the period" if room.to_come else "in this period"
    free = f"{room.left:,} free {'slot' if room.left == 1 else 'slots'} left"
    may = f"{room.above:,} of the {room.allowed:,} that may lie above the commitment of {commitment} {until} are used"
    return f"{room.line.capitalize()}: {free}: {may}."


def _slots(count: int) -> str:
    return f"{count:,} slot" if count == 1 else f"{count:,} slots"
