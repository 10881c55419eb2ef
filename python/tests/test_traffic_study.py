"""Everything at once: `pullnet traffic study`, its report, and that it is the sum of the single commands."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullnet.traffic import TrafficError, Volumes, weibull
from pullnet.traffic.dimensioning import dimension
from pullnet.traffic.fitting import Unfitted, correlation, fit
from pullnet.traffic.report import write
from pullnet.traffic.sample import Floats
from pullnet.traffic.studies import MOST_TESTED, Options, Study, by_trace, study
from pullnet.traffic.synthesis import law_of, synthesise

from .conftest import Pullnet

DATA = Path(__file__).parents[1] / "pullnet" / "traffic" / "data"
HELD = Path(__file__).parent / "data" / "study.json"


def made(name: str, cv: float, count: int = 3000, timescale: float = 0.1, seed: int = 1) -> Volumes:
    return synthesise(law_of("log-normal", 5e6, cv), count, timescale=timescale, seed=seed, trace=name).volumes


def traces() -> list[Volumes]:
    fine = [made("calm", 0.2), made("wild", 0.7, seed=2)]
    return [each if factor == 1 else each.coarser(factor) for each in fine for factor in (1, 10)]


def test_a_study_says_what_the_single_functions_say() -> None:
    volumes = traces()
    found = study(volumes, Options(stationarity=False))
    for item, each in zip(found.items, volumes, strict=True):
        assert item.fitting == fit(each)
        assert item.dimensioning == dimension(each)
    assert {each.trace for each in found.predictions} == {"calm", "wild"}
    assert not found.unpredicted


def numbers_of(found: Study) -> dict[str, Any]:
    """Results of a study: rows, criteria of all laws, ratios, predictions."""
    fittings = found.fittings
    return {
        "rows": [
            {key: row[key] for key in ("alpha", "xmin_bps", "gamma", "capacity_bps", "exceeded")}
            for row in found.rows()
        ],
        "against": [row["against_power_law"] for row in found.rows()],
        "criteria": [
            {name: [each.aic, each.bic, each.distance] for name, each in fitting.whole.criteria.items()}
            for fitting in fittings
        ],
        "ratios": [[ratio.normalised for ratio in fitting.whole.ratios] for fitting in fittings],
        "predicted": [each.predicted for each in found.predictions],
    }


def flat(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for key in sorted(value) for number in flat(value[key])]
    return [number for each in value for number in flat(each)] if isinstance(value, list) else [value]


def test_numbers_are_those_that_each_part_computed_by_itself() -> None:
    """The file was written when every rule and law still sorted, checked and estimated for itself."""
    silent = np.maximum(np.random.default_rng(1).normal(5.0, 4.0, 2000), 0.0)
    volumes = [*traces(), Volumes("silent", 1.0, 0.0, silent, np.zeros(2000, np.uint8))]
    found = numbers_of(study(volumes, Options(stationarity=False)))
    wanted = json.loads(HELD.read_text(encoding="utf-8"))
    assert len(flat(found)) > 300
    # A ratio is the difference of two sums of some 10^4, whose last digits depend on the processor's instructions.
    for name in ("against", "ratios"):
        assert flat(found.pop(name)) == pytest.approx(flat(wanted.pop(name)), rel=1e-12, abs=1e-9)
    assert flat(found) == pytest.approx(flat(wanted), rel=1e-12)


def test_a_law_is_estimated_once_for_all_shares_and_a_plot_computed_once_for_all_laws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    estimated: list[int] = []
    estimate = weibull.estimate

    def counted(x: Floats) -> tuple[float, float]:
        estimated.append(len(x))
        return estimate(x)

    monkeypatch.setattr(weibull, "estimate", counted)
    volumes = made("calm", 0.2, count=777)
    dimension(volumes)
    assert estimated == [777]
    correlation._normal.cache_clear()
    fit(volumes)
    fit(made("wild", 0.7, count=777))
    assert correlation._normal.cache_info().misses == 1
    assert estimated == [777] * 3


def test_results_do_not_depend_on_the_number_of_processes() -> None:
    options = Options(bootstrap=20, seed=3)
    one, two = (study(traces(), options, jobs=jobs) for jobs in (1, 2))
    assert json.dumps(one.rows()) == json.dumps(two.rows())
    assert one.predictions == two.predictions


def test_progress_counts_every_series() -> None:
    told: list[tuple[int, int]] = []
    study(traces(), Options(stationarity=False), progress=lambda done, total: told.append((done, total)))
    assert told == [(number, 4) for number in range(1, 5)]


def test_a_series_that_nothing_can_be_said_of_is_told_and_spoils_nothing() -> None:
    flat = Volumes("flat", 0.1, 0.0, np.full(500, 7.0), np.zeros(500, np.uint8))
    found = study([flat, made("calm", 0.2)], Options())
    assert isinstance(found.items[0].fitting, Unfitted)
    assert "fit" in found.items[0].skipped
    assert [row["trace"] for row in found.rows()] == ["calm"]


def test_long_series_are_not_tested_for_stationarity_and_that_is_said() -> None:
    found = study([made("long", 0.2, count=MOST_TESTED + 1)], Options())
    assert found.items[0].stationarity is None
    assert str(MOST_TESTED) in found.items[0].skipped["stationarity"]


def test_nothing_to_study_is_an_error() -> None:
    with pytest.raises(TrafficError, match="no volumes"):
        study([])


def test_traces_are_gathered_with_the_shortest_timescale_first() -> None:
    gathered = by_trace(reversed(traces()))
    assert list(gathered) == ["wild", "calm"]
    assert [each.timescale for each in gathered["calm"]] == [0.1, 1.0]


def report(pullnet: Pullnet, *arguments: str) -> dict[str, Any]:
    ran = pullnet("traffic", "study", *arguments, "--json")
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def test_the_report_is_one_page_with_its_numbers_beside_it(pullnet: Pullnet, tmp_path: Path) -> None:
    file = str(DATA / "iio_us-east-1_network_in.csv.gz")
    document = report(pullnet, file, "--unit", "bytes", "-o", str(tmp_path / "out"))
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "http://" not in page and "https://" not in page and "<script" not in page
    pictures = sorted((tmp_path / "out" / "figures").glob("*.png"))
    assert page.count("<figure>") == len(pictures) >= 7
    for picture in pictures:
        rows = list(csv.reader(picture.with_suffix(".csv").open(encoding="utf-8")))
        assert len(rows) > 1 and rows[0][0] == "series"
    written = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert written["rows"] == document["rows"]
    assert document["rows"][0]["verdict"] in page.replace("&#39;", "'")


def test_what_a_trace_is_called_is_text_and_no_markup(tmp_path: Path) -> None:
    page = write(study([made("<b>&", 0.2)], Options(stationarity=False)), tmp_path).read_text(encoding="utf-8")
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;" in page


def test_what_a_single_trace_cannot_say_is_null_in_json_and_a_dash_on_the_page(
    pullnet: Pullnet, tmp_path: Path
) -> None:
    table = tmp_path / "one.csv"
    rates = np.random.default_rng(1).lognormal(16, 0.3, 400)
    table.write_text("t_s,bytes\n" + "".join(f"{i},{rate:.0f}\n" for i, rate in enumerate(rates)))
    out = tmp_path / "out"
    ran = pullnet("traffic", "study", str(table), "-o", str(out), "--no-stationarity", "--json")
    assert ran.returncode == 0, ran.stderr
    printed, written = (strict(text) for text in (ran.stdout, (out / "summary.json").read_text(encoding="utf-8")))
    assert {each["error"] for each in printed["scores"] + written["scores"]} == {None}
    assert {each["nrmse"] for each in printed["nrmse"] + written["nrmse"]} == {None}
    assert set(written["variation_of_gamma"].popitem()[1].values()) == {None}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<td>-</td>" in page and ">nan<" not in page
    assert all(row["error"] == "" for row in csv.DictReader((out / "scores.csv").open(encoding="utf-8")))


def strict(text: str) -> Any:
    """Read JSON as the standard has it, without NaN and Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_a_report_that_is_there_is_not_replaced_unasked(pullnet: Pullnet, tmp_path: Path) -> None:
    arguments = (str(DATA / "modbus.pcap.gz"), "--timescale", "1s", "-o", str(tmp_path / "out"), "--no-stationarity")
    report(pullnet, *arguments)
    again = pullnet("traffic", "study", *arguments)
    assert again.returncode == 2
    assert "exists already" in again.stderr
    report(pullnet, *arguments, "--force")


def test_wrong_input_leaves_no_folder(pullnet: Pullnet, tmp_path: Path) -> None:
    ran = pullnet("traffic", "study", str(tmp_path / "none.pcap"), "-o", str(tmp_path / "out"))
    assert ran.returncode == 2
    assert "there is no such file" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_capture_is_studied_as_far_as_it_goes(pullnet: Pullnet, tmp_path: Path) -> None:
    import gzip

    whole = gzip.decompress((DATA / "modbus.pcap.gz").read_bytes())
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(whole[: len(whole) * 2 // 3 + 1])
    ran = pullnet("traffic", "study", str(cut), "--timescale", "100ms", "-o", str(tmp_path / "out"), "--json")
    assert ran.returncode == 3
    assert json.loads(ran.stdout)["inputs"][0]["unreadable"]
    assert (tmp_path / "out" / "report.html").is_file()


def test_options_of_captures_and_of_counters_go_together(pullnet: Pullnet, tmp_path: Path) -> None:
    files = [str(DATA / name) for name in ("modbus.pcap.gz", "iio_us-east-1_network_in.csv.gz")]
    options = ("--unit", "bytes", "--filter", "tcp", "--no-stationarity")
    document = report(pullnet, *files, *options, "-o", str(tmp_path / "out"))
    assert {row["trace"] for row in document["rows"]} == {"modbus", "iio_us-east-1_network_in"}
    alone = pullnet("traffic", "study", files[0], "--unit", "bytes", "-o", str(tmp_path / "other"))
    assert alone.returncode == 2
    assert "--unit: says nothing about captures" in alone.stderr


def test_a_script_without_the_guard_is_told_to_have_it(tmp_path: Path) -> None:
    text = (
        "from pullnet import traffic\nvolumes = [traffic.as_volumes(range(1, 99), timescale='1 s')[0]] * 4\n"
        "traffic.study(volumes, jobs=2)\n"
    )
    (tmp_path / "script.py").write_text(text)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'with the call below `if __name__ == "__main__":`' in done.stderr.splitlines()[-1]
    assert done.stderr.count("Traceback") == 1
