"""The page of other engines ranks them by their medians, and is complete after each measurement."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness.cli import conditions
from benchmarks.harness.plan import PlannedRun, rotate
from benchmarks.harness.rate_search import step_of
from benchmarks.other_engines.cases import OTHER_ENGINES, describe, engine_cases, limit_cases
from benchmarks.other_engines.long_interval import long_interval_plan
from benchmarks.other_engines.measure import BENCHMARK
from benchmarks.other_engines.options import Options
from benchmarks.results.format import milliseconds
from benchmarks.results.publish import write_json
from benchmarks.results.summary import summarize
from scripts.pack import files, generate
from scripts.pack.validate import validate
from tests.benchmarks.helpers import run_result
from tests.benchmarks.results.test_validity import GOOD

PAGE = "references/other_engines.md"
NAMES = {"real-time": "real-time mode", "real-time, two copies": "real-time mode with two copies"}

MEASURED = "references/measured/other_engines"


def ranks_of(page: Path) -> dict[tuple[str, str], list[tuple[str, str]]]:
    lines = re.findall(r"^- (p\d+) in ms (without|with) state: (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        (name, state): [(words.rpartition(" ")[0], words.rpartition(" ")[2]) for words in order.split(", ")]
        for name, state, order in lines
    }


def assert_ranks_follow_from_medians(page: Path, measured: Path) -> None:
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
    assert_ranks_follow_from_medians(files.ROOT / PAGE, files.ROOT / f"{MEASURED}.json")


def test_wrong_order_of_engines_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = (files.ROOT / PAGE).read_text(encoding="utf-8")
    page.write_text(re.sub(r"(p99 in ms with state: )(\S.*?), (.*)", r"\1\3, \2", text), encoding="utf-8")

    with pytest.raises(AssertionError):
        assert_ranks_follow_from_medians(page, files.ROOT / f"{MEASURED}.json")


def described(options: Options) -> dict[str, Any]:
    return {"conditions": conditions(options), "other_engines": describe(OTHER_ENGINES, {})}


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


def publish_all(root: Path, wait_ms: int = 0) -> None:
    full, interval, limits = (BENCHMARK.parse(flags) for flags in ([], ["--long-interval"], ["--limits"]))
    plan = rotate(engine_cases(OTHER_ENGINES, full.interval_seconds, wait_ms=wait_ms), full.traffics(), full.repeats)
    content = {**described(full), **summary_of(plan, pauses_ms=[100.0] * 4), "late_runs": [GOOD]}
    write_json(content, root / f"{MEASURED}.json")
    plan = long_interval_plan(interval, OTHER_ENGINES)
    write_json(
        {**described(interval), **summary_of(plan, pauses_ms=[120.0, 180.0])},
        root / f"{MEASURED}_interval.json",
    )
    found, steps = list[dict[str, Any]](), list[dict[str, Any]]()
    for number, case in enumerate(limit_cases(OTHER_ENGINES, limits.interval_seconds)):
        tried = []
        for rate in limits.rate:
            last_ms = 9_000 if number and rate > 8_000 else 5
            numbers: dict[str, Any] = {**GOOD, "rate": rate}
            result = run_result(case.workload, case.engine, [5] * 30 + [last_ms] * 10, **numbers)
            tried.append(step_of(result))
        highest = max(step["rate"] for step in tried if step["sustained"])
        found.append({"workload": case.workload, "engine": case.engine, "sustained_rate": highest})
        steps += tried
    write_json({**described(limits), "limits": found, "steps": steps}, root / f"{MEASURED}_limits.json")


@pytest.mark.parametrize("wait_ms", [0, 5])
def test_page_is_complete_after_each_measurement(copied: Path, wait_ms: int) -> None:
    page = copied / PAGE

    publish_all(copied, wait_ms)
    generate.write_all(copied)

    text = page.read_text(encoding="utf-8")
    assert [] == validate(copied)
    assert_ranks_follow_from_medians(page, copied / f"{MEASURED}.json")
    assert "All engines commit every 12 s.\n" in text
    assert ("Two copies wait up to 5 ms for more rows" in text) == (wait_ms == 5)
    assert "with 42 s of warm-up (at first 2,000 records/s)" in text
    assert "Runs that were repeated because records were sent late or other programs were busy: 1." in text
    row = "| Spark, real-time mode with two copies | 1,000 | 102 | 102 | 102 | 102 | 102 | 8.5x (7.9x to 9.2x) | 12 |"
    assert row in text
    assert "| Spark, real-time mode | 21 | 21 | 21 | 21 | 21 | 1.9x | 2 | 180 / 180 | 0.05% |" in text
    assert "| Kafka Streams | at least 64,000 (100 ms) | 8,000 (100 ms) |" in text
