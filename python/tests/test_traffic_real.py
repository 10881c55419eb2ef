"""Dimensioning, billing, stationarity and synthesis of real series, through the command, against plain counting."""

import gzip
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullnet.traffic.noise import autocorrelation

from .conftest import Pullnet

DATA = Path(__file__).parents[1] / "pullnet" / "traffic" / "data"
CLOUD = {
    "ec2_network_in_257a54": 4032,
    "ec2_network_in_5abac7": 4730,
    "iio_us-east-1_network_in": 1243,
}
"""Machines of a public cloud, bytes in 5 minutes; rows."""

MORE = os.environ.get("PULLNET_DATA")
"""A folder with traffic that may not be shipped, in `traffic`, if there is one."""


def column(name: str) -> np.ndarray:
    lines = gzip.decompress((DATA / f"{name}.csv.gz").read_bytes()).decode().splitlines()[1:]
    return np.array([float(line.split(",")[1]) for line in lines])


def ask(pullnet: Pullnet, command: str, file: Path, *arguments: str) -> dict[str, Any]:
    asked = pullnet("traffic", command, str(file), *arguments, "--json")
    assert asked.returncode == 0, asked.stderr
    document: dict[str, Any] = json.loads(asked.stdout)
    return document


def file_of(name: str) -> Path:
    return DATA / f"{name}.csv.gz"


@pytest.mark.parametrize("name", CLOUD)
def test_a_bill_is_the_percentile_that_plain_sorting_gives(pullnet: Pullnet, name: str) -> None:
    terms = ("--unit", "bytes", "--price", "2.50", "--currency", "USD")
    bill = ask(pullnet, "bill", file_of(name), *terms)["bills"][0]
    known = bill["lines"][0]["slots"]
    # Rows of one slot are joined or left out where clocks were set; within these the percentile is exact.
    values = np.sort(column(name))
    assert abs(known - CLOUD[name]) <= 30
    low, high = (values[math.ceil(0.95 * known) - 1 + shift] for shift in (-30, 20))
    assert low * 8 / 300 <= bill["rate_bps"] <= high * 8 / 300
    if known == CLOUD[name]:
        assert bill["rate_bps"] == values[math.ceil(0.95 * known) - 1] * 8 / 300
    assert bill["amount"] == f"{math.floor(bill['rate_bps'] * 2.5 / 1e6 * 100 + 0.5) / 100:.2f}"


def test_a_month_that_is_not_over_is_foretold(pullnet: Pullnet) -> None:
    name = "ec2_network_in_257a54"  # 2014-04-10 to 24
    found = ask(pullnet, "bill", file_of(name), "--unit", "bytes", "--month", "2014-04", "--as-of", "2014-04-24T00:00")
    bill = found["bills"][0]
    assert bill["slots"] == 30 * 288
    # Nine days before, and two intervals that have no row.
    assert bill["slots_to_come"] == 30 * 288 - 9 * 288 - 4032 - 2
    laws = {each["law"]: each for each in bill["forecast"]}
    assert all(each["low"] <= each["high"] for each in laws.values())
    # Nothing is known of the time to come but what was so far: that forecast stays near the rate so far.
    assert laws["as so far"]["rate"] == pytest.approx(bill["rate_bps"], rel=0.02)


@pytest.mark.parametrize("name", CLOUD)
def test_capacities_are_exceeded_as_counted(pullnet: Pullnet, name: str) -> None:
    found = ask(pullnet, "dimension", file_of(name), "--unit", "bytes")["dimensioning"][0]
    values = column(name)
    for each in found["capacities"]:
        assert each["exceeded"] == pytest.approx(np.mean(values * 8 / 300 >= each["capacity"]), abs=30 / len(values))
        if each["rule"] == "empirical":
            assert each["exceeded"] <= each["eps"]
    assert found["mean"] == pytest.approx(values.mean() * 8 / 300, rel=0.02)


@pytest.mark.parametrize("name", CLOUD)
def test_what_is_made_from_a_trace_looks_like_it(pullnet: Pullnet, tmp_path: Path, name: str) -> None:
    made = (
        "--autocorrelation",
        "measured",
        "--unit",
        "bytes",
        "--seed",
        "3",
        "-o",
        str(tmp_path / "made.csv"),
        "--json",
    )
    asked = pullnet("traffic", "synthesise", "--from", str(file_of(name)), *made)
    assert asked.returncode == 0, asked.stderr
    document = json.loads(asked.stdout)
    assert document["negative_share"] == 0
    fitted = np.log(column(name)[column(name) > 0])
    # A log-normal by maximum likelihood: mean and deviation of the logarithms.
    assert document["parameters"]["mu"] == pytest.approx(fitted.mean(), abs=0.05)
    assert document["parameters"]["sigma"] == pytest.approx(fitted.std(), abs=0.05)
    judged = ask(pullnet, "stationarity", tmp_path / "made.csv")["stationarity"][0]
    wanted = autocorrelation(np.argsort(np.argsort(column(name))).astype(float), 1)[1]
    # Of ranks, and of a heavy-tailed law: the sign and the size are what is left of it.
    assert -0.1 < judged["memory"]["autocorrelation"]["1"] < wanted + 0.15


@pytest.mark.skipif(MORE is None, reason="PULLNET_DATA names no folder")
def test_a_transatlantic_link_has_a_daily_course(pullnet: Pullnet) -> None:
    file = Path(str(MORE)) / "traffic" / "isp_a_transatlantic_5min.csv"
    bill = ask(pullnet, "bill", file, "--unit", "bits", "--price", "1")["bills"][0]
    bits = np.array([float(line.split(",")[1]) for line in file.read_text().splitlines()[1:]])
    assert bill["rate_bps"] == pytest.approx(np.sort(bits)[math.ceil(0.95 * len(bits)) - 1] / 300)
    judged = ask(pullnet, "stationarity", file, "--unit", "bits", "--window", "1d")["stationarity"][0]
    assert judged["memory"]["effective_samples"] < len(bits) / 50
    within = {window["verdict"] for window in judged["windows"] if window["length"] < 2 * 86400}
    assert "stationary" not in within or len(within) > 1


@pytest.mark.skipif(MORE is None, reason="PULLNET_DATA names no folder")
def test_every_link_of_a_matrix_is_billed(pullnet: Pullnet) -> None:
    found = ask(
        pullnet, "bill", Path(str(MORE)) / "traffic" / "abilene_5min_od_mbps.csv.gz", "--unit", "Mbit/s", "--price", "1"
    )
    assert len(found["bills"]) == 132
    assert all(bill["slots_to_come"] == 0 for bill in found["bills"])
