"""Pictures of what was measured on this machine."""

from collections.abc import Callable

from pullnet.papers.measures.data import Data, MissingRunsError
from pullnet.papers.picture import Picture, Points
from pullnet.papers.runs import Run

_CARRIERS = {"NDP": "ndp", "TCP": "tcp", "TCP Fast Open": "fast_open", "MPTCP": "mptcp"}


def _runs(data: Data, experiment: str) -> list[Run]:
    runs = [run for run in data.runs(experiment) if "skipped" not in run.numbers]
    if not runs:
        raise MissingRunsError(f"experiment {experiment} was not possible here")
    return runs


def _swapped(points: list[list[float]]) -> Points:
    """Share and value as value and share."""
    return [(float(value), float(share)) for share, value in points]


def calls(data: Data) -> Picture:
    """Fig. 8 of NDP."""
    ours = {
        f"{name}, {wait}": _swapped(run.numbers[f"{key}_quantiles_us"])
        for experiment, wait in (("calls-spin", "spinning"), ("calls-block", "blocking"))
        for run in _runs(data, experiment)
        for name, key in _CARRIERS.items()
    }
    return Picture("fig8-calls", "1 kB calls, each on a new connection", "us", "share of calls", ours, log=True)


def _incasts(data: Data, link: str, name: str) -> Picture:
    ours: dict[str, Points] = {}
    for run in [run for run in _runs(data, "incast") if run.at["link"] == link]:
        size, numbers = float(run.at["size"]), run.numbers
        for carrier, key in (("NDP", "ndp"), ("TCP cubic", "tcp"), ("MPTCP", "mptcp")):
            for percent in (50, 90):
                series = ours.setdefault(f"{carrier}, {percent}th percentile", [])
                series.append((size, numbers[f"{key}_p{percent}_us"] / 1e3))
        ours.setdefault("optimum", []).append((size, numbers["optimum_us"] / 1e3))
    ours = {series: sorted(points) for series, points in ours.items()}
    title = f"7:1 incast, {link}"
    return Picture(name, title, "response (B)", "last flow (ms)", ours, log=True, log_y=True)


def incasts(data: Data) -> Picture:
    """Fig. 9 of NDP."""
    return _incasts(data, "1 Gb/s, 1500 B", "fig9-incast")


def large_incasts(data: Data) -> Picture:
    """Fig. 9 of NDP with large packets."""
    return _incasts(data, "5 Gb/s, 9000 B", "fig9-incast-9000")


def priorities(data: Data) -> Picture:
    """Fig. 10 of NDP."""
    names = {"alone": "idle_us", "pulled first": "priority_us", "no priority": "none_us"}
    runs = _runs(data, "priority")
    ours: dict[str, Points] = {}
    for run in runs:
        for name, key in names.items():
            series = ours.setdefault(f"{name}, {run.at['link']}", [])
            series.append((float(run.at["size"]), run.numbers[key] / 1e3))
    ours = {name: sorted(points) for name, points in ours.items()}
    return Picture(
        "fig10-priority", "Short flow beside six long ones", "size (B)", "completion (ms)", ours, log=True, log_y=True
    )


def windows(data: Data) -> Picture:
    """Fig. 11 of NDP."""
    ours = {
        f"{world}, {run.at['link']}": [(float(x), float(y)) for x, y in run.numbers[f"{world}_shares"]]
        for run in _runs(data, "window")
        for world in ("linux", "simulator")
    }
    return Picture("fig11-window", "Two hosts", "initial window (packets)", "share of the line rate", ours)


def spacings(data: Data) -> Picture:
    """Fig. 12 of NDP."""
    ours = {str(run.at["link"]): _swapped(run.numbers["quantiles_us"]) for run in _runs(data, "spacing")}
    return Picture("fig12-spacing", "Spacing of pulls", "us", "share of pulls", ours, log=True)


ALL: dict[str, Callable[[Data], Picture]] = {
    "8": calls,
    "9": incasts,
    "9 9000": large_incasts,
    "10": priorities,
    "11": windows,
    "12": spacings,
}
"""Pictures by figure; another word tells two of one figure apart."""
