"""Where a thread runs: and that everything is as before afterwards."""

import os

import pytest

from pullnet import scheduling
from pullnet.errors import InputError


def test_afterwards_everything_is_as_before() -> None:
    cores, session = os.sched_getaffinity(0), scheduling._session_nice()
    with scheduling.for_a_while(scheduling.Schedule(min(cores), "group")):
        assert os.sched_getaffinity(0) == {min(cores)}
    assert (os.sched_getaffinity(0), scheduling._session_nice()) == (cores, session)


def test_a_core_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="core 4000: this process has cores"):
        scheduling.apply(0, scheduling.Schedule(4000))
