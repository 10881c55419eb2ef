"""Results of runs: tables, summary, result folder, comparison of two results, and text for terminals and notebooks."""

from typing import Any

from pullnet.html import show_by


def _html(found: Any) -> str:
    from pullnet.results import notebook

    return notebook.html(found)


show_by(__name__, _html)
