"""The tables of the latency benchmarks show the numbers of their JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.pack.tables import latency
from scripts.pack.tables.format import PERCENTILES
from spark_rtm.text import markdown

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
    "duration_seconds": 120.0,
    "repeats": 3,
    "load_percents": [25, 50],
}


def case(workload: str, engine: str, times: int, **others: Any) -> dict[str, Any]:
    """Return a benchmark row whose numbers are all different."""
    latencies = {f"{name}_ms": times * (1.26 + number) for number, name in enumerate(PERCENTILES)}
    engine_latencies = {"engine_p50_ms": 100 * times, "engine_p99_ms": 200 * times}
    ratios = {"times_baseline": times / 4, "speedup_over_micro_batch": None, "speedup_over_untuned": None}
    gaps = {"boundaries": 0, "pause_median_ms": None, "pause_max_ms": None, "outputs_per_record": 1.0}
    load = {"arrivals": "constant", "rate": 1000.0, "engine_cores": times / 8, "cpu_seconds_per_million": 1000 * times}
    return {"workload": workload, "engine": engine, **latencies, **engine_latencies, **ratios, **gaps, **load, **others}


def write(root: Path, stem: str, **content: Any) -> None:
    """Write the JSON file of a benchmark."""
    folder = root / latency.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    content = {"runs": [{"foreign_cores": 0.01}, {"foreign_cores": 0.07}], **content}
    (folder / f"{stem}.json").write_text(json.dumps({"conditions": CONDITIONS, **content}))


def rows(text: str) -> list[tuple[str, ...]]:
    """Return the rows of the only table of a text."""
    [table] = markdown.tables(text)
    return [cells for _, cells in table.rows]


def test_modes_table_shows_the_baseline_and_one_workload(tmp_path: Path) -> None:
    """The table compares modes on one workload with the baseline, and states the conditions of the measurement."""
    baseline = case("echo", "baseline (echo)", 1)
    fast = case("stateful", "real-time", 2, speedup_over_micro_batch=120.5, speedup_over_untuned=300.5)
    merged = case("stateful", "micro-batch", 30, outputs_per_record=0.61)
    write(tmp_path, "latency", cases=[baseline, case("stateless", "real-time", 9), fast, merged])

    text = latency.modes(tmp_path, "stateful")

    expected = [
        ("baseline (echo)", "1.3", "2.3", "3.3", "4.3", "5.3", "-", "0.25x", "-", "-", "1,000"),
        ("real-time", "2.5", "4.5", "6.5", "8.5", "11", "200 / 400", "0.5x", "120x", "300x", "2,000"),
        ("micro-batch", "38", "68", "98", "128", "158", "3000 / 6000", "7.5x", "-", "-", "30,000"),
    ]
    assert expected == rows(text)
    assert "Outputs per record: 0.61 in *micro-batch*. " in text
    assert text.startswith("Measured with `make bench-latency PUBLISH=1` on 2026-11-21. Machine: 2 cores, ")
    assert "Java 17.0.15 -XX:+UseZGC, PySpark 4.3.0," in text
    assert "2 partitions, 1,000 records/s, trigger interval 30 s. Runs: 3 per case, each with 45 s of warm-up " in text
    assert "each with 45 s of warm-up and then 120 s of measurement. " in text
    assert "Other programs used at most 0.07 cores." in text


def test_overview_shows_all_workloads_and_a_dash_without_ratio(tmp_path: Path) -> None:
    """The table of the README shows p50, p99 and maximum of every row of the benchmark."""
    fast = case("stateless", "real-time", 2, speedup_over_micro_batch=120.5, speedup_over_untuned=300.5)
    write(tmp_path, "latency", cases=[case("echo", "baseline (echo)", 1), fast])

    expected = [
        ("echo", "baseline (echo)", "1.3", "3.3", "5.3", "0.25x", "-", "-"),
        ("stateless", "real-time", "2.5", "6.5", "11", "0.5x", "120x", "300x"),
    ]
    assert expected == rows(latency.overview(tmp_path, ""))


def test_speed_up_sentence_compares_single_queries(tmp_path: Path) -> None:
    """Each sentence names the engine, both medians and their factor."""
    fast = [case(name, "real-time", 2, speedup_over_micro_batch=54.7) for name in ("stateless", "stateful")]
    slow = [case(name, "micro-batch", 99) for name in ("stateless", "stateful")]
    write(tmp_path, "latency", cases=[*fast, *slow])

    text = latency.speed_up(tmp_path, "")

    expected = (
        "the median latency of a query with state is 2.5 ms in real-time mode and 125 ms in tuned micro-batch mode"
    )
    assert f"On OSS 4.3.0, {expected}, 55 times as long." in text


def test_boundaries_table_shows_time_by_phase(tmp_path: Path) -> None:
    """The table shows how long each phase of a batch boundary takes."""
    fast = case("stateful", "real-time", 2, boundaries=12, pause_median_ms=180.4, pause_max_ms=1250.0)
    phases = [{"workload": "stateful", "engine": "real-time", "walCommit": 22, "addBatch": 61, "triggerExecution": 110}]
    write(tmp_path, "latency", cases=[fast], phases=phases)

    expected = ("stateful, real-time", "12", "180 / 1,250", "-", "-", "22", "61", "-", "110", "-", "-")
    assert [expected] == rows(latency.boundaries(tmp_path, ""))


def test_tuning_table_shows_one_changed_setting_per_row(tmp_path: Path) -> None:
    """Each row of the table is one setting at one value, and the note states how far runs differ."""
    quiet = {"p99_lowest_ms": 3.0, "p99_highest_ms": 3.5}
    base = case("stateful", "recommended", 1, pause_median_ms=180.0, pause_max_ms=200.0, **quiet)
    noisy = {"p99_lowest_ms": 12.0, "p99_highest_ms": 40.0}
    changed = case("stateful", "kafka.linger.ms = 5", 4, pause_median_ms=190.0, pause_max_ms=210.0, **noisy)
    same = {"p99_lowest_ms": 10.0, "p99_highest_ms": 10.0}
    write(tmp_path, "tuning", cases=[base, changed, case("stateless", "recommended", 3, **same)])

    text = latency.tuning(tmp_path, "")

    expected = [
        ("stateful", "recommended", "", "1.3", "2.3", "3.3", "4.3", "5.3", "3.0 / 3.5", "180 / 200", "0.12"),
        ("stateful", "`kafka.linger.ms`", "5", "5.0", "9.0", "13", "17", "21", "12 / 40", "190 / 210", "0.50"),
        ("stateless", "recommended", "", "3.8", "6.8", "9.8", "13", "16", "10 / 10", "-", "0.38"),
    ]
    assert expected == rows(text)
    assert "The p99 values of two runs with the same settings differ by up to 3.3x.\n" in text


def test_costs_table_shows_real_time_mode_only(tmp_path: Path) -> None:
    """Micro-batch is left out: back to back it uses whatever cores it gets, at any rate."""
    merged = case("stateful", "micro-batch", 30, outputs_per_record=0.61)
    write(tmp_path, "latency", cases=[merged, case("stateful", "real-time, two copies", 8)])

    expected = ("stateful", "real-time, two copies", "8,000")
    assert [expected] == rows(latency.costs(tmp_path, ""))


def test_two_copies_are_compared_with_one_run_by_run(tmp_path: Path) -> None:
    """The first run of two copies is compared with the first run of one copy, the second with the second."""
    tails = {"real-time": [(180.0, 220.0), (150.0, 200.0)], "real-time, two copies": [(30.0, 55.0), (25.0, 29.0)]}
    runs = [
        {"workload": "stateful", "engine": engine, "p99.9_ms": tail, "max_ms": longest}
        for engine, pairs in tails.items()
        for tail, longest in pairs
    ]
    other = {"workload": "stateless", "engine": "real-time", "p99.9_ms": 1.0, "max_ms": 1.0}
    write(tmp_path, "latency", cases=[case("echo", "baseline (echo)", 1)], runs=[other, *runs])

    text = latency.two_copies(tmp_path, "")

    expected = [("1", "180", "30", "6x", "220", "55", "4x"), ("2", "150", "25", "6x", "200", "29", "6.9x")]
    assert expected == rows(text)
    assert "the baseline without an engine has a p99.9 of 4.3 ms.\n" in text


def limit(workload: str, engine: str, rate: float) -> dict[str, Any]:
    """Return the highest rate that an engine sustained."""
    return {"workload": workload, "engine": engine, "sustained_rate": rate}


def test_throughput_table_shows_latency_below_each_limit(tmp_path: Path) -> None:
    """Fractions are ordered by rate; an engine that sustained every rate is marked with `at least`."""
    half, quarter = (case("stateful", "real-time", times, rate=1000.0 * times) for times in (4, 2))
    limits = [
        limit("stateful", "real-time", 8000.0),
        limit("stateful", "micro-batch", 0.0),
        limit("stateless", "real-time", 64000.0),
    ]
    steps = [{**one, "sustained": one is limits[2]} for one in limits]
    write(tmp_path, "throughput", cases=[half, quarter], limits=limits, steps=steps)

    expected = [
        ("stateful, real-time", "8,000", "2.5 / 6.5 / 2,000", "5.0 / 13 / 4,000"),
        ("stateful, micro-batch", "0", "-", "-"),
        ("stateless, real-time", "at least 64,000", "-", "-"),
    ]
    assert expected == rows(latency.throughput(tmp_path, ""))


def test_limits_compare_real_time_mode_with_micro_batch(tmp_path: Path) -> None:
    """The sentences state both sustained rates, and the range of ratios of p50 at the same fractions."""
    workloads = ("stateless", "stateful")
    cases = [
        case(workload, engine, times)
        for workload in workloads
        for engine, times in (("real-time", 2), ("micro-batch", 30))
    ]
    cases += [case(workload, engine, 3) for workload in workloads for engine in ("real-time", "micro-batch")]
    limits = [limit(workload, engine, 6000) for workload in workloads for engine in ("real-time", "micro-batch")]
    write(tmp_path, "throughput", cases=cases, limits=limits, steps=[])

    first, second, *others = latency.limits(tmp_path, "").splitlines()

    assert first == (
        "With the stateless workload, real-time mode sustains 6,000 records/s, and micro-batch mode sustains "
        "6,000 records/s."
    )
    assert second.endswith("p50 in micro-batch mode is 1 to 15 times that in real-time mode.")
    assert 2 == len(others)


@pytest.mark.parametrize("late_runs", [[], [{}, {}]], ids=["none", "two"])
def test_repeated_runs_are_counted_above_the_table(tmp_path: Path, late_runs: list[dict[str, Any]]) -> None:
    """The conditions state how many runs were repeated and why; without any they do not mention it."""
    write(tmp_path, "latency", cases=[case("stateful", "real-time", 1)], late_runs=late_runs)

    text = latency.modes(tmp_path, "stateful")

    assert ("Runs that were repeated because records were sent late: 2. " in text) == bool(late_runs)
    assert ("repeated" in text) == bool(late_runs)


def test_missing_measurement_is_refused_with_its_command(tmp_path: Path) -> None:
    """Without the JSON file the error names the command that writes it; an unknown workload lists the known ones."""
    with pytest.raises(
        ValueError,
        match=r"references/measured/latency\.json does not exist; create it with `make bench-latency PUBLISH=1`",
    ):
        latency.modes(tmp_path, "stateful")

    write(tmp_path, "latency", cases=[case("stateless", "real-time", 1)])
    with pytest.raises(ValueError, match=r"workload 'statefull' was not measured; use one of stateless"):
        latency.modes(tmp_path, "statefull")
