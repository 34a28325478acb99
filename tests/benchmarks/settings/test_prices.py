"""Changes are compared with the untouched query of their own group and repeat."""

from pathlib import Path
from typing import Any

from benchmarks.results.run_result import RunResult
from benchmarks.settings.prices import UNTOUCHED, helpful, summarize_prices
from tests.benchmarks.helpers import run_result
from tests.benchmarks.settings.conftest import DrawChanges


def priced(engine: str, cpu_seconds: float, latency_ms: int = 2, workload: str = "stateful") -> RunResult:
    """Return a run with a price and one latency."""
    return run_result(workload, engine, [latency_ms] * 4, cpu_seconds_per_million=cpu_seconds)


def test_ratio_compares_runs_of_one_group_and_repeat() -> None:
    """The machine is twice as slow in the second group, and in the second repeat of the first group."""
    results = [
        (priced(UNTOUCHED, 100), 0),
        (priced("a", 80), 0),
        (priced(UNTOUCHED, 200), 2),
        (priced("b", 300, latency_ms=4), 2),
        (priced("b", 300, latency_ms=4), 2),
        (priced(UNTOUCHED, 200), 2),
        (priced("a", 160), 0),
        (priced(UNTOUCHED, 200), 0),
    ]

    rows = {row["engine"]: row for row in summarize_prices(results)}

    assert (0.8, 1.5, 1.0) == tuple(rows[name]["cpu_ratio"] for name in ("a", "b", UNTOUCHED))
    assert (1.0, 2.0, 2.0) == (rows["a"]["p50_ratio"], rows["b"]["p50_ratio"], rows["b"]["p99_ratio"])
    assert (2, 4) == (rows["a"]["runs"], rows[UNTOUCHED]["runs"])


def test_only_cheap_and_fast_changes_are_combined() -> None:
    """A change that saves less than 3% or waits too long is not combined, and the best change is applied last."""
    rows: list[dict[str, Any]] = [
        {"engine": name, "cpu_ratio": ratio, "p50_ms": p50_ms}
        for name, ratio, p50_ms in (
            (UNTOUCHED, 1.0, 2.0),
            ("best", 0.6, 5.0),
            ("noise", 0.98, 2.0),
            ("slow", 0.5, 21.0),
            ("good", 0.97, 20.0),
        )
    ]

    assert ["good", "best"] == helpful(rows)


def test_chart_names_each_change_at_its_bar(tmp_path: Path, draw_changes: DrawChanges) -> None:
    """The same rows give the same file, and each bar carries its name and its ratio."""
    rows = summarize_prices([(priced(UNTOUCHED, 100), 0), (priced("a", 80), 0)])
    [chart] = draw_changes(rows, tmp_path / "price.svg")
    first = chart.read_bytes()

    assert [chart] == draw_changes(rows, tmp_path / "price.svg")
    assert first == chart.read_bytes()
    assert b"a: 0.80x" in first


def test_run_without_outputs_has_no_row() -> None:
    """A query that answered nothing has no latency to compare."""
    silent = run_result("stateful", "a", [2], cpu_seconds_per_million=None)
    silent.numbers["records"] = 0

    assert [UNTOUCHED] == [row["engine"] for row in summarize_prices([(priced(UNTOUCHED, 100), 0), (silent, 0)])]
