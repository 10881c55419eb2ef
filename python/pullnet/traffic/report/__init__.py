"""A study as one page and its pictures, each beside the numbers it shows."""

from pullnet.traffic.report.page import write

__all__ = ["write"]
