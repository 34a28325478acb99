"""Summarize the runs of a benchmark. Percentiles of several runs are never averaged."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.results.run_result import CaseKey, RunResult, key_of, label_of
from spark_rtm.measure import percentiles_of_runs

BASELINE, MICRO_BATCH, UNTUNED = "baseline (echo)", "micro-batch", "micro-batch, untuned"
MEDIANS = (
    "engine_p50_ms",
    "engine_p99_ms",
    "engine_cores",
    "cpu_seconds_per_million",
    "engine_mb",
)


def summarize(results: Sequence[RunResult]) -> dict[str, Any]:
    """Return the content of a benchmark's JSON without the conditions."""
    by_case: dict[CaseKey, list[RunResult]] = {}
    for result in results:
        by_case.setdefault(key_of(result.numbers), []).append(result)
    numbers = {key: [run.numbers for run in runs] for key, runs in by_case.items()}
    rows = [_row(runs) | ratios(key, numbers) for key, runs in by_case.items()]
    with_boundaries = [runs for runs in by_case.values() if runs[0].has_boundaries]
    return {
        "cases": rows,
        "phases": [
            {"workload": runs[0].numbers["workload"], "engine": runs[0].numbers["engine"], **_phases(runs)}
            for runs in with_boundaries
        ],
        "runs": [{**_flat(result.numbers), "problems": "; ".join(result.problems)} for result in results],
        "late_runs": [_flat(late) for result in results for late in result.late_runs],
        "settings": {label_of(runs[0].numbers): dict(runs[0].settings) for runs in by_case.values()},
    }


def ratios(key: CaseKey, by_case: Mapping[CaseKey, Sequence[Mapping[str, Any]]]) -> dict[str, float | None]:
    """
    Return the ratios that compare a case's p50 with the baseline, and with tuned and untuned micro-batch mode.

    Each ratio is the median over the repeats. The ratio to the baseline also has a lowest and a highest value. The
    baseline does less work than any engine, so the ratio to it shows the cost of the workload.
    """
    workload, _, rate = key
    own, tuned, untuned = (by_case.get((workload, engine, rate), []) for engine in (key[1], MICRO_BATCH, UNTUNED))
    baseline = next((runs for (_, engine, other), runs in by_case.items() if (engine, other) == (BASELINE, rate)), [])
    slower = _quotients(own, baseline)
    return {
        "times_baseline": _rounded(statistics.median_high, slower, 2),
        "times_baseline_lowest": _rounded(min, slower, 2),
        "times_baseline_highest": _rounded(max, slower, 2),
        "speedup_over_micro_batch": _rounded(statistics.median_high, _quotients(tuned, own), 1),
        "speedup_over_untuned": _rounded(statistics.median_high, _quotients(untuned, own), 1),
    }


def _rounded(aggregate: Callable[[list[float]], float], quotients: list[float], digits: int) -> float | None:
    return round(aggregate(quotients), digits) if quotients else None


def _quotients(runs: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return p50 ratios of runs of the same repeat, because the machine's speed changes from hour to hour."""
    pairs = zip(runs, others, strict=False)
    return [run["p50_ms"] / other["p50_ms"] for run, other in pairs if run["records"] and other["records"]]


def _row(runs: Sequence[RunResult]) -> dict[str, Any]:
    numbers = [run.numbers for run in runs]
    row = {name: numbers[0][name] for name in ("workload", "engine", "rate")}
    row |= {"runs": len(runs), "records": sum(one["records"] for one in numbers)}
    # A run without outputs is invalid, and its case has no percentiles.
    row |= percentiles_of_runs([one for one in numbers if one["records"]])
    row |= {name: statistics.median_high(one.get(name) or 0 for one in numbers) for name in MEDIANS}
    pauses_ms = [pause_ms for one in numbers for pause_ms in one["pauses_ms"]]
    row |= {"boundaries": len(pauses_ms), "pause_median_ms": statistics.median_high(pauses_ms) if pauses_ms else None}
    row |= {"pause_max_ms": max(pauses_ms, default=None)}
    row["outputs_per_record"] = min(one["outputs_per_record"] for one in numbers)
    return row


def _phases(runs: Sequence[RunResult]) -> dict[str, float]:
    names = sorted({name for run in runs for name in run.numbers["phases_ms"]})
    return {name: statistics.median_high(run.numbers["phases_ms"].get(name, 0) for run in runs) for name in names}


def _flat(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in numbers.items() if name != "phases_ms"}
