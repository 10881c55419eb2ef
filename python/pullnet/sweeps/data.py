"""Results of a sweep: a row for each run with the parameters as columns, and mean and confidence of each point."""

import difflib
import re
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from pullnet.errors import InputError
from pullnet.results import tables
from pullnet.results.summary import Summary
from pullnet.sweeps.axes import Axis, Value
from pullnet.sweeps.plan import Plan
from pullnet.sweeps.store import Store

RUNS, POINTS = "runs", "points"

_UNITS = (
    (re.compile(r"(^|\.)\w*_us(\.|$)"), "us"),
    (re.compile(r"(^|\.)\w*_gbps(\.|$)"), "Gb/s"),
    (re.compile(r"(^|\.)\w*_per_cpu_s$"), "1/s"),
    (re.compile(r"(^|\.)\w*_s$"), "s"),
    (re.compile(r"(^|\.)\w*_bytes$"), "B"),
)
_NOT_MEASURED = ("seed", "threads")
_WINDOW = ("from", "to")

_MOST_NAMES = 8
"""Names that an error lists."""

_NO_METRICS = {"metric": pl.String, "runs": pl.UInt32, "missing": pl.UInt32, "mean": pl.Float64, "sd": pl.Float64}


@cache
def unit(metric: str) -> str:
    """Unit of a metric, as its name says it; a tag within the name says nothing."""
    found = _field_of(metric)
    return next((name for pattern, name in _UNITS if found and pattern.search(found)), "")


def is_metric(name: str) -> bool:
    """Whether a summary can have such a number: tags and other names within it may be any."""
    return _field_of(name) is not None


def unknown_name(metric: str, groups: Mapping[str, Collection[str]]) -> str | None:
    """Explain that no run can have a metric, since its group has no such name; `None` if it has.

    `groups` has the names of each group, such as the tags at `by_tag`. Names of other groups may be any.
    """
    found = [
        (group, metric[len(group) + 1 : len(metric) - len(rest)])
        for group, _, rest in (path.partition(".*") for path in _numbers(Summary) if "*" in path)
        if metric.startswith(f"{group}.") and metric.endswith(rest) and len(metric) > len(group) + len(rest)
    ]
    # A name may have dots, so that a metric can match the fields of several paths.
    if not found or any(group not in groups or name in groups[group] for group, name in found):
        return None
    group, name = found[0]
    kind, names = group.rpartition("by_")[2], sorted(groups[group])
    near = difflib.get_close_matches(name, names, _MOST_NAMES, 0.0) if len(names) > _MOST_NAMES else names
    others = f" and {len(names) - len(near)} more" if len(names) > len(near) else ""
    known = f"use one of {', '.join(near)}{others}" if names else f"none has a {kind}"
    return f"--metric {metric}: no point has the {kind} {name!r}; {known}"


def near_metrics(name: str, known: Iterable[str] | None = None) -> str:
    """Names of numbers of a summary that are near, as a question; empty if there are none."""
    listed = [path.replace("*", "NAME") for path in _numbers(Summary)] if known is None else list(known)
    near = difflib.get_close_matches(name, listed, 3, 0.5)
    return f"did you mean {' or '.join(near)}?" if near else ""


def _field_of(metric: str) -> str | None:
    """Return the fields of a metric behind its last name, `fct_us.p99` for `by_tag.TAG.fct_us.p99`."""
    return next((field for pattern, field in _fields() if pattern.fullmatch(metric)), None)


@cache
def _fields() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(r".*".join(map(re.escape, path.split("*"))), re.DOTALL), path.rpartition("*")[2].lstrip("."))
        for path in _numbers(Summary)
    ]


def _numbers(kind: Any, path: str = "") -> Iterator[str]:
    """Paths of the numbers in a part of a summary; `*` stands for a name that the scenario gives."""
    arguments = typing.get_args(kind)
    if path == "window_us":
        yield from (f"{path}.{end}" for end in _WINDOW)
    elif path in (*_NOT_MEASURED, "warnings"):
        return
    elif is_dataclass(kind):
        for name, inner in typing.get_type_hints(kind).items():
            yield from _numbers(inner, f"{path}.{name}" if path else name)
    elif typing.get_origin(kind) is dict:
        yield from _numbers(arguments[1], f"{path}.*")
    elif typing.get_origin(kind) is list or {int, float} & {kind, *arguments}:
        yield path


def flat(summary: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a summary, each by its path: `fct_us.p99`."""
    for key, value in summary.items():
        path = f"{prefix}{key}"
        if path == "window_us":
            yield from ((f"{path}.{end}", moment) for end, moment in zip(_WINDOW, value, strict=True))
        elif path == "warnings":
            yield path, ", ".join(warning["name"] for warning in value)
        elif isinstance(value, Mapping):
            yield from flat(value, f"{path}.")
        else:
            yield path, len(value) if isinstance(value, list) else value


def runs_of(plan: Plan, store: Store) -> pl.DataFrame:
    """Return a row for each run that has been made, once, in the order of the plan."""
    found = [(run, summary) for run in plan.runs if (summary := store.load(run.key)) is not None]
    rows = [{**run.point.at, "seed": run.seed, "run": run.key, **dict(flat(summary))} for run, summary in found]
    return _frame(rows, plan.axes)


def _frame(rows: Sequence[Mapping[str, Any]], axes: Sequence[Axis]) -> pl.DataFrame:
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    fixed: dict[str, Any] = {axis.path: _kind(axis.values[0]) for axis in axes}
    if not rows:
        return pl.DataFrame(schema={**fixed, "seed": pl.Int64, "run": pl.String})
    return pl.DataFrame([_series(name, values, fixed.get(name)) for name, values in columns.items()])


def _kind(value: Value) -> Any:
    kinds: dict[type, Any] = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}
    return kinds[type(value)]


def _series(name: str, values: list[Any], kind: Any) -> pl.Series:
    """Give a column one type: a float where there is one among whole numbers, or nothing but missing values."""
    kinds = {type(value) for value in values} - {type(None)}
    if kind is None and kinds <= {float, int} and kinds != {int}:
        kind, values = pl.Float64, [None if value is None else float(value) for value in values]
    return pl.Series(name, values, dtype=kind)


def metrics_of(runs: pl.DataFrame, axes: Sequence[Axis]) -> list[str]:
    """Names of what was measured, as numbers."""
    without = {*_NOT_MEASURED, *(axis.path for axis in axes)}
    return [name for name, kind in runs.schema.items() if kind.is_numeric() and name not in without]


def points_of(runs: pl.DataFrame, axes: Sequence[Axis], confidence: float) -> pl.DataFrame:
    """Return mean and confidence interval (Student's t over the seeds) of each metric at each point.

    `runs` is how many values there are, `missing` how many runs have none. One value has no interval.
    """
    paths, metrics = [axis.path for axis in axes], metrics_of(runs, axes)
    if not metrics:
        columns: dict[str, Any] = {path: runs.schema[path] for path in paths} | _NO_METRICS
        return pl.DataFrame(schema={**columns, "low": pl.Float64, "high": pl.Float64, "unit": pl.String})
    values = [pl.col(name).cast(pl.Float64) for name in metrics]
    long = runs.select(*paths, *values).unpivot(index=paths, on=metrics, variable_name="metric", value_name="value")
    value = pl.col("value")
    found = long.group_by(*paths, "metric", maintain_order=True).agg(
        runs=value.count(), missing=value.null_count(), mean=value.mean(), sd=value.std()
    )
    half = pl.Series("half", _half_widths(found["runs"].to_list(), found["sd"].to_list(), confidence), pl.Float64)
    units = pl.Series("unit", [unit(name) for name in found["metric"]])
    ends = found.with_columns(low=pl.col("mean") - half, high=pl.col("mean") + half, unit=units)
    orders = [(axis.path, list(axis.values)) for axis in axes] + [("metric", list(metrics))]
    return ends.sort([_place(column, values) for column, values in orders])


def _place(column: str, values: Sequence[Value]) -> pl.Expr:
    """Rank of a value in the order in which values were given."""
    order = {value: number for number, value in enumerate(values)}
    return pl.col(column).replace_strict(order, return_dtype=pl.Int64)


def _half_widths(counts: list[int], deviations: list[float | None], confidence: float) -> list[float | None]:
    from scipy.special import stdtrit  # of all that scipy has, what loads fast

    quantiles = {count: float(stdtrit(count - 1, (1 + confidence) / 2)) for count in set(counts) if count > 1}
    return [
        None if deviation is None or count < 2 else quantiles[count] * deviation / count**0.5
        for count, deviation in zip(counts, deviations, strict=True)
    ]


def write(frame: pl.DataFrame, path: Path) -> None:
    """Write a table as Parquet, units in the metadata of its columns."""
    import pyarrow as pa

    table = frame.to_arrow()
    fields = [field.with_metadata({"unit": unit(field.name)}) for field in table.schema]
    tables.write(table.cast(pa.schema(fields)), path)


def write_table(plan: Plan, store: Store, name: str, path: Path) -> None:
    """Join a table of all runs that have been made, parameters and seed before its own columns.

    An own column that has the name of a parameter gets the name of the table in front: `flows.transport`.
    Without a run, there is no file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with ExitStack() as stack:
        writer = None
        for run in plan.runs:
            if store.load(run.key, [name]) is None:
                continue
            given = {**run.point.at, "seed": run.seed}
            table = tables.read(store.table(run.key, name))
            own = [f"{name}.{column}" if column in given else column for column in table.column_names]
            table = table.rename_columns(own)
            for at, (key, value) in enumerate(given.items()):
                table = table.add_column(at, key, pa.array([value] * table.num_rows, _arrow_kind(value)))
            if writer and not table.schema.equals(writer.schema):
                raise InputError(f"--keep {name}: its columns are not the same at all points; leave it out")
            writer = writer or stack.enter_context(pq.ParquetWriter(path, table.schema, compression="zstd"))
            writer.write_table(table)


def _arrow_kind(value: Value) -> Any:
    import pyarrow as pa

    kinds: dict[type, Any] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    return kinds[type(value)]


def without_effect(runs: pl.DataFrame, axes: Sequence[Axis]) -> list[str]:
    """Name the axes along which no fingerprint changes: their values change nothing."""
    found = []
    for axis in axes:
        others = ["seed", *(other.path for other in axes if other is not axis)]
        if len(axis.values) > 1 and runs.height and runs[axis.path].n_unique() > 1:
            most = runs.group_by(others).agg(pl.col("fingerprint").n_unique())["fingerprint"].max()
            found += [axis.path] if most == 1 else []
    return found
