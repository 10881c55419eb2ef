"""Background load: what a simulation offers is what was drawn, and follows the law."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import pullnet
from pullnet.traffic import as_volumes, write
from pullnet.traffic.synthesis import law_of, long_memory, synthesise

SCENARIO = """
name = "Load"
seed = 5
until = "all flows done"
limit = "1 s"

[topology]
kind = "fat-tree"
k = 4
link = { rate = "100 Gbps", delay = "1 us" }

[transport]
kind = "ndp"

[switch]
kind = "trim"

[[traffic]]
kind = "volume-model"
sizes = { distribution = "imc10" }
"""


def offered(scenario: Path, length_ps: int, count: int) -> np.ndarray:
    """Bytes that a run offers in each interval."""
    flows = pullnet.run(scenario).flows
    place = flows["start_ps"].to_numpy() // length_ps
    return np.bincount(place, weights=flows["size_bytes"].to_numpy(), minlength=count)


def test_a_simulation_offers_what_the_law_says(tmp_path: Path) -> None:
    # 1000 intervals of 20 us at 10 Gb/s: the Kolmogorov-Smirnov distance exceeds 1.95 / sqrt(1000) once in 1000 seeds.
    file = tmp_path / "load.toml"
    file.write_text(SCENARIO + 'mean = "10 Gbps"\ncv = 0.5\ntimescale = "20 us"\nintervals = 1000\n')
    found = offered(file, 20_000_000, 1000)
    assert len(found) == 1000
    law = law_of("log-normal", 25_000, 0.5)
    assert stats.kstest(found, lambda x: np.asarray(law.cdf(x))).statistic < 1.95 / np.sqrt(1000)


def test_a_simulation_offers_a_synthetic_trace_to_the_byte(tmp_path: Path) -> None:
    law = law_of("Weibull", 20_000, 0.6)
    made = synthesise(law, 300, timescale=20e-6, memory=long_memory(0.8), seed=2).volumes
    write(made, tmp_path / "v.csv")
    file = tmp_path / "load.toml"
    file.write_text(SCENARIO + 'file = "v.csv"\n')
    assert offered(file, 20_000_000, 300).tolist() == made.bytes.tolist()


def test_volumes_of_a_capture_are_shrunk_in_time_at_the_same_rates(tmp_path: Path) -> None:
    write(as_volumes([1000.0, 0, 3000.5, 2000.5], timescale=1.0), tmp_path / "v.csv")
    file = tmp_path / "load.toml"
    file.write_text(SCENARIO + 'file = "v.csv"\ntimescale = "1 ms"\nscale = 1000\n')
    assert offered(file, 1_000_000_000, 4) == pytest.approx([1000, 0, 3000, 2001])
