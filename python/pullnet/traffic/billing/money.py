"""Money: exact until the last step, which rounds half up to the smallest coin."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from fractions import Fraction

from pullnet.traffic.error import TrafficError

MEGABIT = 1_000_000

_DECIMALS = {
    **dict.fromkeys(("CLP", "ISK", "JPY", "KRW", "VND"), 0),
    **dict.fromkeys(("BHD", "JOD", "KWD", "OMR", "TND"), 3),
}


@dataclass(frozen=True, slots=True, order=True)
class Money:
    """An amount in the smallest coin's precision."""

    amount: Decimal
    currency: str

    @classmethod
    def exactly(cls, amount: Fraction, currency: str) -> "Money":
        """Round a fraction half up to the smallest coin (2 decimals, but for currencies known to have none or 3)."""
        return cls(rounded(amount, _DECIMALS.get(currency, 2)), currency)

    def __str__(self) -> str:
        """Return "1,250.00 EUR"."""
        return f"{self.amount:,} {self.currency}".rstrip()

    def minus(self, other: "Money") -> "Money":
        """Return the difference."""
        return Money(self.amount - other.amount, self.currency)


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a Mbit/s for the period."""

    committed: Decimal
    """Of what was committed to, used or not; of everything where there is no commitment."""
    overage: Decimal
    """Of what goes beyond the commitment."""
    currency: str = ""

    @classmethod
    def per_mbps(
        cls, price: str | int | Decimal, currency: str = "", *, overage: str | int | Decimal | None = None
    ) -> "Price":
        """Read prices per Mbit/s; without `overage` the commitment and what goes beyond it cost the same."""
        committed = _price(price, "price")
        return cls(committed, committed if overage is None else _price(overage, "overage"), _currency(currency))

    def charge(self, rate: Fraction, commitment: int) -> Fraction:
        """Exact charge for a rate with a commitment (both bit/s)."""
        beyond = max(Fraction(0), rate - commitment)
        return (Fraction(self.committed) * commitment + self._above(commitment) * beyond) / MEGABIT

    def _above(self, commitment: int) -> Fraction:
        return Fraction(self.overage if commitment else self.committed)


def rounded(value: Fraction, decimals: int) -> Decimal:
    """Round half up (away from zero), exactly."""
    scaled = abs(value) * 10**decimals
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    with localcontext() as context:
        context.prec = len(str(whole)) + decimals + 2
        found = Decimal(whole).scaleb(-decimals).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)
    return found.copy_negate() if value < 0 and whole else found


def _price(text: str | int | Decimal, what: str) -> Decimal:
    remedy = "use a number of at least 0 with a point, such as 2.50"
    if isinstance(text, float):
        raise TrafficError(
            f"{text} is binary and not exact", value=text, remedy='give a text, such as "2.50"', keyword=what
        )
    try:
        price = Decimal(str(text))
    except InvalidOperation:
        raise TrafficError(f"`{text}` is not a price", value=text, remedy=remedy, keyword=what) from None
    if not price.is_finite() or price < 0 or abs(price.adjusted()) > 30:
        raise TrafficError(f"`{text}` is not a price", value=text, remedy=remedy, keyword=what)
    return price


def _currency(text: str) -> str:
    if not all(letter.isalpha() or letter in "$€£¥" for letter in text):
        raise TrafficError(f"`{text}` is not a currency", value=text, remedy="use letters, such as EUR")
    return text
