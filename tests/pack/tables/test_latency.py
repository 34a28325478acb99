"""Tables of the latency benchmarks hold the numbers of their JSON, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.pack.tables import latency
from scripts.pack.tables.format import PERCENTILES
from scripts.text import markdown

CONDITIONS = {
    "date": "2026-11-21",
    "cores": 2,
    "java": "17.0.15",
    "java_options": "-XX:+UseZGC",
    "pyspark": "4.3.0",
    "kafka_connector": "4.2.0",
    "kafka_broker_and_clients": "4.4.0",
    "partitions": 2,
    "rate": 1000.0,
    "interval_seconds": 30.0,
    "warm_up_seconds": 45.0,
    "measured_seconds": 120.0,
    "repeats": 3,
    "shares": [25, 50],
}


def cell(work: str, engine: str, times: int, **others: Any) -> dict[str, Any]:
    """Return a cell whose numbers are all different."""
    latencies = {f"{name}_ms": times * (1.26 + number) for number, name in enumerate(PERCENTILES)}
    engine_latencies = {"engine_p50_ms": 100 * times, "engine_p99_ms": 200 * times}
    ratios = {"times_floor": times / 4, "below_micro_batch": None, "below_untuned": None}
    gaps = {"boundaries": 0, "gap_median_ms": None, "gap_most_ms": None, "outputs_per_record": 1.0}
    load = {"arrivals": "constant", "rate": 1000.0, "engine_cores": times / 8, "cpu_s_per_million": 1000 * times}
    return {"work": work, "engine": engine, **latencies, **engine_latencies, **ratios, **gaps, **load, **others}


def write(root: Path, stem: str, **content: Any) -> None:
    """Write what a benchmark would have written."""
    folder = root / latency.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    content = {"runs": [{"foreign_cores": 0.01}, {"foreign_cores": 0.07}], **content}
    (folder / f"{stem}.json").write_text(json.dumps({"conditions": CONDITIONS, **content}))


def rows(text: str) -> list[tuple[str, ...]]:
    """Return the rows of the only table of a text."""
    [table] = markdown.tables(text)
    return [cells for _, cells in table.rows]


def test_modes_are_shown_with_the_floor_and_without_the_other_work(tmp_path: Path) -> None:
    """A table compares what did the same work, and says on what it was measured."""
    floor, fast = (
        cell("echo", "raw echo", 1),
        cell("stateful", "real-time", 2, below_micro_batch=120.5, below_untuned=300.5),
    )
    merged = cell("stateful", "micro-batch", 30, outputs_per_record=0.61)
    write(tmp_path, "latency", cells=[floor, cell("stateless", "real-time", 9), fast, merged])

    text = latency.modes(tmp_path, "stateful")

    expected = [
        ("raw echo", "1.3", "2.3", "3.3", "4.3", "5.3", "-", "0.25", "-", "-", "1,000"),
        ("real-time", "2.5", "4.5", "6.5", "8.5", "11", "200 / 400", "0.5", "120.5", "300.5", "2,000"),
        ("micro-batch", "38", "68", "98", "128", "158", "3000 / 6000", "7.5", "-", "-", "30,000"),
    ]
    assert expected == rows(text)
    assert "micro-batch merges: 0.61 outputs per record" in text
    assert text.startswith("`make bench KEEP=1`, 2026-11-21: 2 cores, Java 17.0.15 -XX:+UseZGC, PySpark 4.3.0,")
    assert "1,000 records/s, trigger interval 30 s, 120 s measured after 45 s" in text
    assert "other programs took at most 0.07 cores" in text


def test_overview_shows_all_works_and_no_ratio_that_was_not_made(tmp_path: Path) -> None:
    """The README shows median, tail and worst of everything that was measured."""
    fast = cell("stateless", "real-time", 2, below_micro_batch=120.5, below_untuned=300.5)
    write(tmp_path, "latency", cells=[cell("echo", "raw echo", 1), fast])

    expected = [
        ("echo", "raw echo", "1.3", "3.3", "5.3", "0.25", "-", "-"),
        ("stateless", "real-time", "2.5", "6.5", "11", "0.5", "120.5", "300.5"),
    ]
    assert expected == rows(latency.overview(tmp_path, ""))


def test_boundaries_are_shown_by_phase(tmp_path: Path) -> None:
    """Who tunes a boundary sees where its time goes."""
    fast = cell("stateful", "real-time", 2, boundaries=12, gap_median_ms=180.4, gap_most_ms=1250.0)
    phases = [{"work": "stateful", "engine": "real-time", "walCommit": 22, "addBatch": 61, "triggerExecution": 110}]
    write(tmp_path, "latency", cells=[fast], phases=phases)

    expected = ("stateful, real-time", "12", "180 / 1,250", "-", "-", "22", "61", "-", "110", "-", "-")
    assert [expected] == rows(latency.boundaries(tmp_path, ""))


def test_knobs_are_shown_beside_the_recommended_settings(tmp_path: Path) -> None:
    """Each row is one knob at one value."""
    base = cell("stateful", "recommended", 1, gap_median_ms=180.0, gap_most_ms=200.0, p99_least_ms=3.0, p99_most_ms=3.5)
    noisy = {"p99_least_ms": 12.0, "p99_most_ms": 40.0}
    turned = cell("stateful", "kafka.linger.ms = 5", 4, gap_median_ms=190.0, gap_most_ms=210.0, **noisy)
    write(tmp_path, "tuning", cells=[base, turned, cell("stateless", "recommended", 3)])

    expected = [
        ("recommended", "", "1.3", "2.3", "3.3", "4.3", "5.3", "3.0 / 3.5", "180 / 200", "0.12"),
        ("`kafka.linger.ms`", "5", "5.0", "9.0", "13", "17", "21", "12 / 40", "190 / 210", "0.50"),
    ]
    assert expected == rows(latency.knobs(tmp_path, "stateful"))


def test_costs_are_those_of_real_time_mode(tmp_path: Path) -> None:
    """Micro-batch back to back takes what it gets, so its price says nothing."""
    merged = cell("stateful", "micro-batch", 30, outputs_per_record=0.61)
    write(tmp_path, "latency", cells=[merged, cell("stateful", "real-time, two copies", 8)])

    expected = ("stateful", "real-time, two copies", "8,000")
    assert [expected] == rows(latency.costs(tmp_path, ""))


def test_limits_are_shown_with_the_latency_below_them(tmp_path: Path) -> None:
    """Shares stand in the order of their rates, and who was never too slow is known only from below."""
    half, quarter = (cell("stateful", "real-time", times, rate=1000.0 * times) for times in (4, 2))
    names = [
        {"work": "stateful", "engine": "real-time"},
        {"work": "stateful", "engine": "micro-batch"},
        {"work": "stateless", "engine": "real-time"},
    ]
    limits = [{**name, "sustained": highest} for name, highest in zip(names, (8000.0, 0.0, 64000.0), strict=True)]
    steps = [{**name, "sustained": name == names[2]} for name in names]
    write(tmp_path, "throughput", cells=[half, quarter], limits=limits, steps=steps)

    expected = [
        ("stateful, real-time", "8,000", "2.5 / 6.5 / 2,000", "5.0 / 13 / 4,000"),
        ("stateful, micro-batch", "0", "-", "-"),
        ("stateless, real-time", "at least 64,000", "-", "-"),
    ]
    assert expected == rows(latency.load(tmp_path, ""))


@pytest.mark.parametrize("late", [[], [{}, {}]], ids=["none", "two"])
def test_runs_that_were_done_again_are_told(tmp_path: Path, late: list[dict[str, Any]]) -> None:
    """A reader must know that some runs were left out, and why."""
    write(tmp_path, "latency", cells=[cell("stateful", "real-time", 1)], late=late)

    text = latency.modes(tmp_path, "stateful")

    assert ("runs done again because records were sent late: 2.\n" in text) == bool(late)
    assert ("done again" in text) == bool(late)


def test_engine_alone_is_shown_without_a_broker(tmp_path: Path) -> None:
    """Its runs say nothing of other programs, so the conditions do not either."""
    write(tmp_path, "engine_only", cells=[cell("", "real-time", 2)], runs=[{"missing": 0}])

    text = latency.rate_to_stat(tmp_path, "")

    assert [("real-time", "2.5", "4.5", "6.5", "8.5", "11", "1")] == rows(text)
    assert "runs of each: 3.\n" in text


def test_table_of_what_was_not_measured_is_refused(tmp_path: Path) -> None:
    """A page that asks for it learns which command measures it."""
    with pytest.raises(
        ValueError, match=r"references/measured/latency\.json does not exist; write it with `make bench"
    ):
        latency.modes(tmp_path, "stateful")

    write(tmp_path, "latency", cells=[cell("stateless", "real-time", 1)])
    with pytest.raises(ValueError, match=r"nothing was measured for 'statefull'; name one of \['stateless'\]"):
        latency.modes(tmp_path, "statefull")
