"""The table of other engines shows the numbers of its JSON, and names the engines that were not measured."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness.conditions import conditions
from benchmarks.harness.plan import START_AND_END_SECONDS, PlannedRun, rotate
from benchmarks.harness.rate_search import step_of
from benchmarks.other_engines.cases import OTHER_ENGINES as OTHER_ENGINE_LIST
from benchmarks.other_engines.cases import describe, engine_cases, limit_cases
from benchmarks.other_engines.long_interval import long_interval_plan
from benchmarks.other_engines.options import Options, options_of
from benchmarks.results.publish import write_json
from benchmarks.results.summary import summarize
from scripts.pack import blocks, files, generate
from scripts.pack.tables.format import milliseconds
from scripts.pack.tables.other_engines import LIMITS, LONG_INTERVAL, OTHER_ENGINES, limits, long_interval, other_engines
from scripts.pack.validate import validate
from tests.benchmarks.helpers import run_result
from tests.benchmarks.results.test_validity import GOOD
from tests.pack.tables.published import publish

PAGE = "references/other_engines.md"
NAMES = {"real-time": "real-time mode", "real-time, two copies": "real-time mode with two copies"}

CONDITIONS = {
    "date": "2026-11-21",
    "cores": 2,
    "java": "17.0.15",
    "java_options": "",
    "pyspark": "4.3.0",
    "kafka_broker_and_clients": "4.4.0",
    "partitions": 2,
    "interval_seconds": 30,
    "duration_seconds": 120,
    "warm_up_seconds": 45,
    "repeats": 2,
}
TABLE = """\
Measured with `make bench-other-engines PUBLISH=1` on 2026-11-21. Machine: 2 cores, Java 17.0.15, PySpark 4.3.0, \
Flink 2.3.0, broker 4.4.0. Load: 2 partitions, trigger interval 30 s. Runs: 2 per case, \
each with 45 s of warm-up and then 120 s of measurement. \
Other programs used at most 0.07 cores. Latency is in ms, measured from scheduled send to receipt.

| stateful: engine | records/s | p50 | p90 | p99 | p99.9 | max | p50 / baseline \
| batch boundaries | CPU cores of the engine |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| baseline (echo) | 1,000 | 0.8 | 1.6 | 4.0 | 8.0 | 1,234 | 1x | - | 0.12 |
| Flink | 1,000 | 1.6 | 3.2 | 8.0 | 16 | 1,234 | 2x | - | 0.43 |
| Spark, real-time mode | 1,000 | 2.4 | 4.8 | 12 | 24 | 1,234 | 3x | 6 | 0.55 |

Quix Streams was not measured: pip cannot install it.
"""


def case(workload: str, engine: str, times: float, cores: float, boundaries: int = 0) -> dict[str, Any]:
    """Return a benchmark row whose latencies are `times` those of the baseline."""
    latencies = {"p50_ms": 0.8, "p90_ms": 1.6, "p99_ms": 4.0, "p99.9_ms": 8.0}
    return {
        "workload": workload,
        "engine": engine,
        "rate": 1000.0,
        "times_baseline": times,
        "boundaries": boundaries,
        **{name: milliseconds * times for name, milliseconds in latencies.items()},
        "max_ms": 1234.4,
        "engine_cores": cores,
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository where Flink was measured and Quix Streams could not be installed."""
    content = {
        "conditions": CONDITIONS,
        "other_engines": [
            {"engine": "Flink", "packages": "apache-flink==2.3.0, org.apache.flink:x:5.0.0-2.2", "not_measured": ""},
            {"engine": "Quix Streams", "packages": "quixstreams==99", "not_measured": "pip cannot install it"},
        ],
        "cases": [
            case("echo", "baseline (echo)", 1, 0.12),
            case("stateless", "Flink", 1, 0.4),
            case("stateful", "Flink", 2, 0.43),
            case("stateful", "real-time", 3, 0.55, boundaries=6),
        ],
        "runs": [{"foreign_cores": 0.02}, {"foreign_cores": 0.07}],
    }
    publish(tmp_path, OTHER_ENGINES, content)
    return tmp_path


def test_table_shows_the_numbers_of_the_json(root: Path) -> None:
    """Each number of the table is in the JSON file, and a sentence names the engine that was not measured."""
    assert other_engines(root, "stateful") == TABLE


def test_unknown_workload_is_refused_with_the_known_ones(root: Path) -> None:
    """A mistyped workload in a page is an error that lists the measured workloads."""
    with pytest.raises(ValueError, match=r"workload 'statefull' was not measured; use one of stateful, stateless"):
        other_engines(root, "statefull")


@pytest.mark.parametrize(
    ("block", "name", "options"),
    [
        (other_engines, "other_engines", ""),
        (long_interval, "other_engines_interval", "BENCH=--long-interval "),
        (limits, "other_engines_limits", "BENCH=--limits "),
    ],
)
def test_missing_measurement_is_refused_with_its_command(
    tmp_path: Path, block: blocks.Maker, name: str, options: str
) -> None:
    """Without the JSON file the error names the command that writes it."""
    command = f"`make bench-other-engines {options}PUBLISH=1`"
    with pytest.raises(ValueError, match=f"{name}.json does not exist; create it with {re.escape(command)}"):
        block(tmp_path, "stateful")


def ranks_of(page: Path) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the engines and their latencies as the page lists them, by percentile and state."""
    lines = re.findall(r"^- (p\d+) in ms (without|with) state: (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        (name, state): [(words.rpartition(" ")[0], words.rpartition(" ")[2]) for words in order.split(", ")]
        for name, state, order in lines
    }


def assert_ranks_follow_from_medians(page: Path, measured: Path) -> None:
    """Assert that the page lists every engine once, in the order of its median, with the rounded median."""
    cases = json.loads(measured.read_text(encoding="utf-8"))["cases"]
    ranks = ranks_of(page)
    assert set(itertools.product(("p50", "p99"), ("with", "without"))) == ranks.keys()
    for (name, state), ranked in ranks.items():
        workload = "stateful" if state == "with" else "stateless"
        medians = {NAMES.get(c["engine"], c["engine"]): c[f"{name}_ms"] for c in cases if c["workload"] == workload}
        assert medians.keys() == {engine for engine, _ in ranked}
        values = [medians[engine] for engine, _ in ranked]
        assert sorted(values) == values
        assert [milliseconds(value) for value in values] == [text for _, text in ranked]


def test_page_ranks_engines_by_the_published_medians() -> None:
    """The first lines of the page name the engines in the order of their medians, with these medians."""
    assert_ranks_follow_from_medians(files.ROOT / PAGE, files.ROOT / OTHER_ENGINES)


def test_wrong_order_of_engines_would_be_found(tmp_path: Path) -> None:
    """The check can fail."""
    page = tmp_path / "page.md"
    text = (files.ROOT / PAGE).read_text(encoding="utf-8")
    page.write_text(re.sub(r"(p99 in ms with state: )(\S.*?), (.*)", r"\1\3, \2", text), encoding="utf-8")

    with pytest.raises(AssertionError):
        assert_ranks_follow_from_medians(page, files.ROOT / OTHER_ENGINES)


def described(options: Options) -> dict[str, Any]:
    """Return the description of a measurement, as the program writes it."""
    return {"conditions": conditions(options), "other_engines": describe(OTHER_ENGINE_LIST, {})}


def summary_of(plan: list[PlannedRun], **numbers: Any) -> dict[str, Any]:
    """Return the summary of runs that never took place: the n-th case of a plan is n times as slow as the first."""
    engines = list(dict.fromkeys((run.case.workload, run.case.engine) for run in plan))
    results = []
    for run in plan:
        slowness = 1 + engines.index((run.case.workload, run.case.engine)) + run.repeat / 10
        extra = numbers if run.case.intervals else {}
        result = run_result(run.case.workload, run.case.engine, [int(10 * slowness)] * 10, run.repeat, **extra)
        results.append(replace(result, settings=run.case.settings))
    return summarize(results)


def publish_all(root: Path) -> None:
    """Write the results of all three measurements with the functions of the benchmark."""
    full, interval, limits = (options_of(flags, "") for flags in ([], ["--long-interval"], ["--limits"]))
    plan = rotate(engine_cases(OTHER_ENGINE_LIST, full.interval_seconds), full.traffics(), full.repeats)
    content = {**described(full), **summary_of(plan, pauses_ms=[100.0] * 4), "late_runs": [GOOD]}
    write_json(content, root / OTHER_ENGINES)
    plan = long_interval_plan(interval, OTHER_ENGINE_LIST)
    write_json({**described(interval), **summary_of(plan, pauses_ms=[120.0, 180.0])}, root / LONG_INTERVAL)
    found, steps = list[dict[str, Any]](), list[dict[str, Any]]()
    for number, case in enumerate(limit_cases(OTHER_ENGINE_LIST, limits.interval_seconds)):
        tried = []
        for rate in limits.rate:
            last_ms = 9_000 if number and rate > 8_000 else 5
            numbers: dict[str, Any] = {**GOOD, "rate": rate}
            result = run_result(case.workload, case.engine, [5] * 30 + [last_ms] * 10, **numbers)
            tried.append(step_of(result))
        highest = max(step["rate"] for step in tried if step["sustained"])
        found.append({"workload": case.workload, "engine": case.engine, "sustained_rate": highest})
        steps += tried
    write_json({**described(limits), "limits": found, "steps": steps}, root / LIMITS)


def test_page_is_complete_after_each_measurement(copied: Path) -> None:
    """The page has a table for each measurement, and is valid."""
    page = copied / PAGE

    publish_all(copied)
    generate.write_all(copied)

    text = page.read_text(encoding="utf-8")
    assert [] == validate(copied)
    assert_ranks_follow_from_medians(page, copied / OTHER_ENGINES)
    assert "All engines commit every 12 s.\n" in text
    assert "Two copies wait up to 5 ms for more rows" in text
    assert "with 42 s of warm-up (at first 2,000 records/s)" in text
    assert "Runs that were repeated because records were sent late or other programs were busy: 1." in text
    row = "| Spark, real-time mode with two copies | 1,000 | 102 | 102 | 102 | 102 | 102 | 8.5x (7.9x to 9.2x) | 12 |"
    assert row in text
    assert "| Spark, real-time mode | 21 | 21 | 21 | 21 | 21 | 1.9x | 2 | 180 / 180 | 0.05% |" in text
    assert "| Kafka Streams | at least 64,000 (100 ms) | 8,000 (100 ms) |" in text


@pytest.mark.parametrize(("flags", "max_minutes"), [([], 65), (["--long-interval"], 45)], ids=["full", "interval"])
def test_plan_fits_into_its_time(flags: list[str], max_minutes: float) -> None:
    """The traffic and the usual time to start and stop the engines take at most this long."""
    options = options_of(flags, "")
    cases = engine_cases(OTHER_ENGINE_LIST, options.interval_seconds)
    plan = (
        long_interval_plan(options, OTHER_ENGINE_LIST)
        if options.long_interval
        else rotate(cases, options.traffics(), options.repeats)
    )

    # The broker is warmed up before the first run.
    seconds = options.warm_up_seconds + sum(run.traffic.seconds + START_AND_END_SECONDS for run in plan)

    assert seconds <= 60 * max_minutes
