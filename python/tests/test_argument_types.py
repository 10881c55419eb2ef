"""Values of other types than a public function declares: an error that names function, argument, value and remedy."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pullnet
from pullnet import codes, host, ideal, traffic
from pullnet.arguments import declared
from pullnet.errors import InputError
from pullnet.runs.seeds import seeds_of

from .conftest import SMALL

PLAIN = SMALL[: SMALL.index("[probes]")]
CAPTURE = Path(traffic.__file__).parent / "data" / "modbus.pcap.gz"
WITHOUT_ARGUMENTS = {"schema", "limits"}


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Every public function that is one of Python."""
    for module in (pullnet, traffic, codes, host, ideal):
        names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        for name in names:
            found = getattr(module, name)
            if inspect.isfunction(found) and found.__module__.startswith("pullnet") and of(module, found):
                yield f"{module.__name__}.{name}", found


def of(module: ModuleType, function: Callable[..., object]) -> bool:
    """Whether a function is one of the module's own package, not of a helper that it imports."""
    return function.__module__.startswith(module.__name__)


PUBLIC = {name: function for name, function in functions() if name.rpartition(".")[2] not in WITHOUT_ARGUMENTS}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_function_refuses_other_types_by_name(name: str) -> None:
    function = inspect.unwrap(PUBLIC[name])
    assert function is not PUBLIC[name], "decorate it with `typed`"
    kinds = {argument: kind for argument, kind in declared(function).items() if kind is not Any}
    assert kinds
    for argument in kinds:
        with pytest.raises(InputError) as caught:
            PUBLIC[name](**{argument: object()})
        start = f"{function.__name__}: {argument}=<object> is of the wrong type; give "
        assert str(caught.value).startswith(start)
        assert len(str(caught.value)) > len(start)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "a number as scenario": (
        lambda: pullnet.run(5),  # type: ignore[arg-type]
        "run: scenario=5 is of the wrong type; give text or a path",
    ),
    "text as seed": (
        lambda: pullnet.run(PLAIN, seed="x"),  # type: ignore[arg-type]
        "run: seed='x' is of the wrong type; give a whole number or None",
    ),
    "a truth value as seed": (
        lambda: pullnet.check(PLAIN, seed=True),
        "check: seed=True is of the wrong type; give a whole number or None",
    ),
    "a number among settings": (
        lambda: pullnet.run(PLAIN, set=["topology.k=4", 5]),  # type: ignore[list-item]
        "run: set[1]=5 is of the wrong type; give text",
    ),
    "a number as key of a setting": (
        lambda: pullnet.check(PLAIN, set={5: 1}),  # type: ignore[dict-item]
        "check: set[5]=5 is of the wrong type; give text",
    ),
    "bytes as scenario": (
        lambda: pullnet.check(b"x"),  # type: ignore[arg-type]
        "check: scenario=b'x' is of the wrong type; give text or a path",
    ),
    "None as axes": (
        lambda: pullnet.sweep(PLAIN, None),  # type: ignore[arg-type]
        "sweep: over=None is of the wrong type; give a dict of texts or a list of texts",
    ),
    "a number as seeds": (
        lambda: pullnet.sweep(PLAIN, seeds=3),  # type: ignore[arg-type]
        "sweep: seeds=3 is of the wrong type; give a list of whole numbers, text or None",
    ),
    "no threads for workers": (
        lambda: pullnet.run_many([PLAIN], threads=0),
        "threads: 0 is out of range; use 1 to 256",
    ),
    "one scenario instead of jobs": (
        lambda: pullnet.run_many("scenarios/incast.toml"),
        "jobs: is one scenario; give a list of jobs, such as [scenario]",
    ),
    "a job of four parts": (
        lambda: pullnet.run_many([(PLAIN, {}, 1, 2)]),  # type: ignore[list-item]
        "jobs[0]: 4 parts are no job; give (scenario, settings, seed)",
    ),
    "a truth value among seeds": (
        lambda: pullnet.sweep(PLAIN, seeds=iter([True])),
        f"--seeds: True is no seed; use 1 to 100000 numbers from 0 to {2**63 - 1}",
    ),
    "an empty name": (lambda: pullnet.run(""), "scenario: is empty; give a path, or a text with line breaks"),
    "a fraction of a thread": (
        lambda: pullnet.run(PLAIN, threads=1.5),  # type: ignore[arg-type]
        "run: threads=1.5 is of the wrong type; give a whole number",
    ),
    "a number as folder": (
        lambda: pullnet.load(5),  # type: ignore[arg-type]
        "load: path=5 is of the wrong type; give text or a path",
    ),
    "text instead of shares": (
        lambda: traffic.dimension(traffic.as_volumes([1.0, 2.0], timescale=1)[0], eps="0.01"),  # type: ignore[arg-type]
        "dimension: eps='0.01' is of the wrong type; give a list of numbers",
    ),
    "text among shares": (
        lambda: traffic.dimension(traffic.as_volumes([1.0, 2.0], timescale=1)[0], eps=["x"]),  # type: ignore[list-item]
        "dimension: eps[0]='x' is of the wrong type; give a number",
    ),
    "text that looks false": (
        lambda: traffic.read(CAPTURE, partial="no"),
        "read: partial='no' is of the wrong type; give True or False",
    ),
    "a number as a filter": (
        lambda: traffic.read(CAPTURE, filter=5),
        "read: filter=5 is of the wrong type; give text or None",
    ),
    "fewer bins than one": (
        lambda: traffic.read(CAPTURE, most_bins=-1),
        "most_bins: -1 is out of range; use 1 or more",
    ),
    "a number as columns": (
        lambda: traffic.read(CAPTURE, columns=5),
        "read: columns=5 is of the wrong type; give text, a list of texts or None",
    ),
    "a number as a form of times": (
        lambda: traffic.read(CAPTURE, time_format=5),
        "read: time_format=5 is of the wrong type; give text or None",
    ),
    "text as a sample": (
        lambda: traffic.fit("volumes.csv"),
        "fit: data='volumes.csv' is of the wrong type; give a Volumes or an array or a list of numbers",
    ),
    "volumes instead of a link": (
        lambda: traffic.bill([1, 2], traffic.Period.month("2026-10")),  # type: ignore[arg-type]
        "bill: link=[1, 2] is of the wrong type; give a Link",
    ),
    "a name of a model": (
        lambda: traffic.fit([1.0, 2.0], models=["Weibull"]),  # type: ignore[list-item]
        "fit: models[0]='Weibull' is of the wrong type; give a class of Model",
    ),
    "text as a request": (
        lambda: host.call("10.0.0.2:61199", 7, "hello"),  # type: ignore[arg-type]
        "call: request='hello' is of the wrong type; give bytes",
    ),
    "an unknown choice": (
        lambda: codes.failure("raptor", symbols=10, lost=1, overhead=0, trials=1),  # type: ignore[arg-type]
        "failure: code='raptor' is of the wrong type; give 'lt' or 'r10' or 'raptorq'",
    ),
    "None as a result": (
        lambda: pullnet.waits(None, 1),  # type: ignore[arg-type]
        "waits: result=None is of the wrong type; give an object with `hops`",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_value_of_another_type_is_named(case: str) -> None:
    call, message = WRONG[case]
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message


def test_numbers_of_numpy_and_iterators_are_taken() -> None:
    settings: dict[str, object] = {"topology.k": np.int64(4), "traffic.1.degree": np.uint8(5)}
    checked = pullnet.check(PLAIN, set=settings, seed=np.int64(7))  # type: ignore[arg-type]
    assert (checked.hosts, checked.seed) == (16, 7)
    assert seeds_of(np.arange(1, 3)) == [1, 2]
    assert pullnet.check(PLAIN, set=(text for text in ["topology.k=4"])).hosts == 16
    volumes = traffic.as_volumes(np.array([1.0, 2.0, 3.0, 5.0] * 50), timescale=np.float64(1.0))[0]
    found = traffic.dimension(volumes, eps=np.array([0.1, 0.01]))  # type: ignore[arg-type]
    assert {capacity.eps for capacity in found.capacities} == {0.1, 0.01}
    assert traffic.fit(np.array([1.0, 2.0, 3.0, 5.0] * 50)).trace == "sample"
