"""Calculations of papers: what their results depend on, and that what they find can fail."""

from pathlib import Path

import numpy as np
import pytest

from pullnet.papers import calculations
from pullnet.papers.calculations import theory, volumes
from pullnet.traffic.sample import Floats
from pullnet.traffic.volumes import Volumes


def test_other_data_is_another_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PULLNET_DATA", raising=False)
    without = calculations.sources()
    (tmp_path / "traffic").mkdir()
    series = tmp_path / "traffic" / "geant_15min_total_mbps.csv"
    series.write_text("time_utc,total_mbps\n2005-05-04T15:00,1\n")
    monkeypatch.setenv("PULLNET_DATA", str(tmp_path))
    first = calculations.sources()
    series.write_text("time_utc,total_mbps\n2005-05-04T15:00,2\n")
    assert len({without, first, calculations.sources()}) == 3
    monkeypatch.delenv("PULLNET_DATA")
    assert calculations.sources() == without


@pytest.mark.parametrize("fits", [True, False])
def test_a_detector_that_says_the_same_of_everything_finds_nothing(fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def always(_volumes: Volumes, _volume: Floats) -> bool:
        return fits

    monkeypatch.setattr(volumes, "_of", always)
    assert volumes.anomalies(1, 2)["found"] is False


def test_the_example_of_the_study_asks_for_more_than_a_matched_log_normal_can() -> None:
    largest = theory.meent(1)["largest_c2_of_example"]
    cv = np.geomspace(1e-3, 1e3, 100_001)
    # Both over the mean, for a log-normal of each coefficient of variation; 1% of it lies above 2.326 deviations.
    sigma = np.sqrt(np.log1p(cv**2))
    ratios = np.exp(2.326348 * sigma - sigma**2 / 2) / (1 + np.sqrt(-2 * np.log(0.01)) * cv)
    assert largest == pytest.approx(344.8 * ratios.max(), rel=1e-6)
    assert largest == pytest.approx(430.9, abs=0.1)
