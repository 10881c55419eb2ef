"""Errors in a traffic input."""

from pullnet.errors import InputError


class TrafficError(InputError):
    """An input that cannot be used, or a question that it cannot answer."""

    def __init__(
        self, what: str, *, where: str = "", value: object = None, remedy: str = "", keyword: str = ""
    ) -> None:
        """State what is wrong, where (file and line, column or offset), the value, and what would work.

        `keyword` is the name of the argument that is wrong.
        """
        self.what = what
        self.where = where
        self.value = value
        self.remedy = remedy
        super().__init__(_text(f"{keyword}: {what}" if keyword else what, where, remedy))
        self.keyword = keyword

    def within(self, where: str) -> "TrafficError":
        """Return the same error with `where` put before its place."""
        place = f"{where}, {self.where}" if self.where else where
        return TrafficError(self.what, where=place, value=self.value, remedy=self.remedy, keyword=self.keyword)


def _text(what: str, where: str, remedy: str) -> str:
    place = f"{where}: " if where else ""
    return f"{place}{what}; {remedy}" if remedy else f"{place}{what}"
