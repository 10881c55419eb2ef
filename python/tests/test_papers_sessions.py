"""Goodput of sessions as the thesis counts it."""

from typing import cast

import numpy as np
import pytest

from pullnet.papers.measures import sessions
from pullnet.papers.measures.data import Data


def test_a_packet_of_1500_bytes_counts_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    # 0.87 Gb/s of payload are packets of 0.909 Gb/s, 0.85 are 0.888.
    monkeypatch.setattr(sessions, "goodputs", lambda *_: np.asarray([0.85, 0.87]))
    assert sessions.sessions_above(cast(Data, None), "read", "fetch", {}, 0.9).value == 0.5


@pytest.mark.parametrize(("last", "holds"), [(0.04, True), (0.01, False)])
def test_a_setting_that_follows_from_others_does_not_hide_a_fall(
    monkeypatch: pytest.MonkeyPatch, last: float, holds: bool
) -> None:
    # `each` differs between points that differ in load alone.
    shares = {(0.5, 2000): 0.01, (0.5, 8000): 0.02, (0.7, 2000): 0.015, (0.7, 8000): last}
    points = [{"load": load, "rate": rate, "each": rate / load} for load, rate in shares]
    monkeypatch.setattr(sessions, "_points", lambda *_: points)
    monkeypatch.setattr(sessions, "_decoded", lambda data, name, at: [shares[at["load"], at["rate"]]])
    values = {"load": [0.5, 0.7], "rate": [2000, 8000]}
    data = cast(Data, type("Runs", (), {"values": lambda self, name, key: values[key]})())
    found = sessions.decoding_grows(data, "decoding", ["load", "rate"])
    assert found.holds is holds
    assert list(found.details) == ["0.5 2000", "0.5 8000", "0.7 2000", "0.7 8000"]
