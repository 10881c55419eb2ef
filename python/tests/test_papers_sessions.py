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
