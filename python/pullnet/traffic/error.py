"""Errors in a traffic input."""

from pullnet.errors import InputError


class TrafficError(InputError):
    """An input that cannot be used, or a question that it cannot answer."""

    def __init__(self, what: str, *, where: str = "", value: object = None, remedy: str = "") -> None:
        """State what is wrong, where (file and line, column or offset), the value, and what would work."""
        self.what = what
        self.where = where
        self.value = value
        self.remedy = remedy
        super().__init__(_text(what, where, remedy))

    def within(self, where: str) -> "TrafficError":
        """Return the same error with `where` put before its place."""
        place = f"{where}, {self.where}" if self.where else where
        return TrafficError(self.what, where=place, value=self.value, remedy=self.remedy)


def _text(what: str, where: str, remedy: str) -> str:
    place = f"{where}: " if where else ""
    return f"{place}{what}; {remedy}" if remedy else f"{place}{what}"
