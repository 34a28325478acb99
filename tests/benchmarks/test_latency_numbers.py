"""What the benchmark computes from raw times: percentiles, boundaries, validity, summaries."""

import io
import itertools
import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from examples.benchmarks.harness.load_generator import Traffic
from examples.benchmarks.harness.plan import Bar, interleaved
from examples.benchmarks.harness.run import Cell, Trial
from examples.benchmarks.latency import show, table
from examples.benchmarks.results.boundaries import Boundary, boundaries, gap_ms, median_phases
from examples.benchmarks.results.charts import draw
from examples.benchmarks.results.summary import key_of, ratios, summarise
from examples.benchmarks.results.validity import problems
from examples.benchmarks.spark.variants import latency_cells, recommended
from examples.benchmarks.throughput import highest_rate, is_sustained
from examples.benchmarks.tuning import knob_cells
from examples.measure.percentiles import percentiles_ms

GOOD = {
    "missing": 0,
    "wrong": 0,
    "achieved_share": 1.0,
    "p50_ms": 100.0,
    "lag_p99_ms": 10.0,
    "records": 1000,
    "negative": 1,
    "boundaries": 3,
    "foreign_cores": 0.15,
}

MEASURED = Path(__file__).parents[2] / "references" / "measured"
LATE = "records were sent late, p99 5.1 ms, allowed 5.0"


@pytest.mark.parametrize(
    ("change", "invalid", "doubtful"),
    [
        ({}, "", ""),
        ({"missing": 1}, "1 records have no answer", ""),
        ({"wrong": 2}, "2 answers differ from the replay, such as this one", ""),
        ({"achieved_share": 0.99}, "", ""),
        ({"achieved_share": 0.9899}, "reached 99.0% of its rate", ""),
        ({"lag_p99_ms": 10.1}, "sent late, p99 10.1 ms, allowed 10.0", ""),
        ({"lag_p99_ms": 5.0, "p50_ms": 1.0}, "", ""),
        ({"lag_p99_ms": 5.1, "p50_ms": 1.0}, "sent late, p99 5.1 ms, allowed 5.0", ""),
        ({"negative": 2}, "2 answers were appended before their records", ""),
        ({"boundaries": 2}, "only 2 batch boundaries", ""),
        ({"foreign_cores": 0.16}, "", "kept 0.16 cores busy"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_run_counts_unless_its_numbers_say_otherwise(change: dict[str, Any], invalid: str, doubtful: str) -> None:
    """Each limit is inclusive, and each finding says what was found."""
    found = problems({**GOOD, **change}, ["this one"], has_boundaries=True)

    for expected, texts in zip((invalid, doubtful), found, strict=True):
        assert bool(expected) == bool(texts)
        assert expected in "".join(texts)


def test_engine_without_batches_needs_no_boundaries() -> None:
    """Only real-time mode has boundaries that its tail is made of."""
    assert ([], []) == problems({**GOOD, "boundaries": 0})


def test_repeats_turn_round() -> None:
    """What runs first in one repeat runs last in the next, so that a drift of the machine favours nobody."""
    cells, traffic = latency_cells(30)[:3], Traffic(1000, 1, 1)

    order = [cell.work for cell, _ in interleaved(cells, [traffic], 2)]

    assert ["echo", "stateless", "stateful", "stateful", "stateless", "echo"] == order


@pytest.mark.parametrize(("took_s", "then"), [(2370, "79 min left"), (1772, "60 min left")], ids=["slow", "echo"])
def test_remaining_time_follows_what_the_runs_took(took_s: float, then: str) -> None:
    """A run takes longer than its traffic, how much depends on the machine, and the echo is no guide."""
    output = io.StringIO()
    run, console = trial("echo", "raw echo", [2] * 10), Console(file=output, width=140)
    bar = Bar([(run.cell, Traffic(1000, 600, 1170))] * 3, console)

    bar.begin()
    bar.step_started_at -= took_s
    bar.end(run)
    bar.begin()

    left = [line.split("about ")[1] for line in output.getvalue().splitlines() if "about " in line]
    assert ["90 min left", then] == left


def progress(started_s: float, took_ms: float, name: str = "copy_0") -> dict[str, Any]:
    """Return the progress of a batch as Spark tells it."""
    return {
        "name": name,
        "timestamp": datetime.fromtimestamp(started_s, UTC).isoformat().replace("+00:00", "Z"),
        "durationMs": {"triggerExecution": took_ms, "addBatch": took_ms - 100, "walCommit": 40},
        "stateOperators": [{"commitTimeMs": 60, "customMetrics": {"rocksdbLoadLatencyMs": 20}}],
    }


def test_boundary_lies_between_the_end_of_the_interval_and_the_end_of_the_batch() -> None:
    """A batch of two seconds that took 2.3 has a gap of 0.3, and its phases are told without the interval."""
    batches = [progress(1000, 2300), progress(1002.3, 900), progress(1003.2, 2100), progress(1000, 2300, "other")]

    found = boundaries(batches, {"copy_0": 2})

    assert [(1002.0, 1002.3), (1005.2, 1005.3)] == [(round(b.due_at, 3), round(b.ended_at, 3)) for b in found]
    expected = {"triggerExecution": 100, "addBatch": 0, "walCommit": 40}
    assert expected | {"state commit, all partitions": 60, "state load, all partitions": 20} == median_phases(found)


def test_gap_is_the_longest_wait_of_a_record_that_was_due_at_the_boundary() -> None:
    """A slow record elsewhere is not the boundary's."""
    due = np.array([1_001_900_000, 1_002_100_000, 1_003_200_000, 1_003_400_000])
    latency = np.array([900_000, 300_000, 100_000, 800_000])

    assert 300.0 == gap_ms(Boundary("copy_0", 1002.0, 1002.3, {}), due, latency)


@pytest.mark.parametrize(
    ("found", "expected"),
    [([], False), (["1 records have no answer"], False), ([LATE], True), (["1 records have no answer", LATE], False)],
    ids=["valid", "missing", "late", "missing and late"],
)
def test_only_a_run_that_was_late_and_nothing_else_is_done_again(found: list[str], *, expected: bool) -> None:
    """A lost record must not be measured away."""
    run = replace(trial("echo", "raw echo", [1, 2]), problems=found)
    run.numbers["lag_p99_ms"] = 5.1

    assert expected == run.is_late()


def trial(work: Any, engine: str, latency_ms: list[int], repeat: int = 0, **numbers: Any) -> Trial:
    """Return a run in which a record was due each millisecond."""
    latency = np.array(latency_ms) * 1000
    due = np.arange(len(latency)) * 1000 + repeat
    found = {"work": work, "engine": engine, "rate": 1000, "arrivals": "constant", "records": len(latency)}
    found |= {f"{name}_ms": value for name, value in percentiles_ms(latency).items()}
    found |= {"gaps_ms": [], "phases_ms": {}, "outputs_per_record": 1.0, **numbers}
    cell = next(cell for cell in latency_cells(30) if engine.startswith(cell.name.split(",")[0]))
    return Trial(Cell(engine, work, cell.start), Traffic(1000, 0, 1), found, [], [], due, latency, [])


def test_cell_is_compared_with_the_floor_and_with_micro_batch_of_its_own_work() -> None:
    """No ratio relates two works: that of the aggregation comes from the aggregation in micro-batch alone."""
    trials = [
        trial("echo", "raw echo", [2] * 10),
        trial("stateless", "micro-batch", [200] * 10),
        trial("stateless", "real-time", [3] * 10),
        trial("stateful", "real-time", [4] * 10),
        trial("stateful", "micro-batch, untuned", [500] * 10),
    ]

    names = "times_floor", "below_micro_batch", "below_untuned"
    ratios = {(c["work"], c["engine"]): tuple(c[name] for name in names) for c in summarise(trials)["cells"]}

    assert (1.0, None, None) == ratios["echo", "raw echo"]
    assert (1.5, 66.7, None) == ratios["stateless", "real-time"]
    assert (2.0, None, 125.0) == ratios["stateful", "real-time"]


def test_ratio_is_the_middle_of_those_within_a_repeat() -> None:
    """A machine that is twice as slow for one repeat does not change what a work costs."""
    times = {"raw echo": (1, 2, 4), "real-time": (3, 8, 8)}
    works = {"raw echo": "echo", "real-time": "stateful"}
    trials = [
        trial(works[engine], engine, [ms] * 10, repeat)
        for engine, all_ms in times.items()
        for repeat, ms in enumerate(all_ms)
    ]

    assert [1.0, 3.0] == [cell["times_floor"] for cell in summarise(trials)["cells"]]


@pytest.mark.parametrize("stem", ["latency", "throughput", "tuning", "other_engines"])
def test_committed_ratios_follow_from_the_runs_beside_them(stem: str) -> None:
    """Nobody can change what a page says of a mode without changing what was measured."""
    content = json.loads((MEASURED / f"{stem}.json").read_text())
    runs: dict[Any, list[dict[str, Any]]] = {}
    for run in content["runs"]:
        runs.setdefault(key_of(run), []).append(run)

    assert content["cells"]
    for cell in content["cells"]:
        assert ratios(key_of(cell), runs).items() <= cell.items()


@pytest.mark.parametrize(
    ("first_ms", "last_ms", "change", "expected"),
    [
        (2, 2, {}, True),
        (2, 252, {}, True),
        (2, 253, {}, False),
        (9_000, 1_000, {}, True),
        (9_000, 1_001, {}, False),
        (2, 2, {"missing": 1}, False),
        (2, 2, {"achieved_share": 0.98}, False),
        (2, 2, {"lag_p99_ms": 5.1, "p50_ms": 1.0}, False),
    ],
    ids=[
        "even",
        "a pause at the end",
        "growing lag",
        "a queue from the start that is gone",
        "a queue that shrinks after the last record",
        "lost records",
        "a lower rate",
        "late records",
    ],
)
def test_rate_is_sustained_if_no_queue_is_left_at_the_end(
    first_ms: int, last_ms: int, change: dict[str, Any], *, expected: bool
) -> None:
    """A queue that grows through a run would grow for ever, and one that waits for the end of it was never kept up."""
    run = trial("stateful", "real-time", [first_ms] * 30 + [last_ms] * 10, **{**GOOD, **change})

    assert expected == is_sustained(run)


@pytest.mark.parametrize(
    ("limit", "tried", "highest"),
    [
        (200, [100, 200], 200),
        (160, [100, 200, 150], 150),
        (110, [100, 200, 150], 100),
        (60, [100, 50], 50),
        (9, [100, 50], 0),
    ],
)
def test_rate_is_raised_until_an_engine_no_longer_keeps_up(limit: float, tried: list[float], highest: float) -> None:
    """After the first rate that is too high comes the one half way back."""
    rates = list[float]()

    def keeps_up(rate: float) -> bool:
        rates.append(rate)
        return rate <= limit

    assert highest == highest_rate([100, 200], keeps_up)
    assert tried == rates


def test_every_knob_is_turned_alone() -> None:
    """Each variant differs from the recommended settings in one thing, and its name says in which."""
    base = recommended(15)
    cells = knob_cells(base)

    names = [(cell.work, cell.name) for cell in cells]
    assert len(names) == len(set(names))
    settings = asdict(base)
    for cell in cells:
        # More partitions may need more slots.
        turned = [name for name in settings if settings[name] != cell.settings[name] and name != "slots"]
        assert len(turned) <= 1 or (
            cell.name.startswith("all of these") and set(turned) == {"confs", "warm_up_batches"}
        )
        assert bool(turned or cell.partitions or cell.name.startswith("slots")) == (cell.name != "recommended")


def test_cell_shows_the_median_of_its_runs_and_how_far_they_lie_apart() -> None:
    """Percentiles of runs are neither averaged nor taken from all records together."""
    trials = [trial("stateless", "real-time", [ms, ms, 10 * ms], repeat) for repeat, ms in enumerate((2, 9, 3))]

    cell = summarise(trials)["cells"][0]

    assert (3, 9) == (cell["runs"], cell["records"])
    assert (3.0, 2.0, 9.0) == (cell["p50_ms"], cell["p50_least_ms"], cell["p50_most_ms"])
    assert (30.0, 20.0, 90.0) == (cell["max_ms"], cell["max_least_ms"], cell["max_most_ms"])


def test_cell_without_any_answer_has_no_times_and_is_not_drawn(tmp_path: Path) -> None:
    """Such a run is invalid, and its file must be JSON for any reader all the same."""
    silent = trial("stateful", "micro-batch", [1])
    silent.numbers.update(records=0, outputs_per_record=0.0)
    silent = replace(silent, due_us=silent.due_us[:0], latency_us=silent.latency_us[:0])
    trials = [trial("echo", "raw echo", [1, 2, 3]), silent, trial("stateful", "real-time", [2, 5, 90])]

    content = json.loads(json.dumps(summarise(trials), allow_nan=False))

    cells = {cell["engine"]: cell for cell in content["cells"]}
    assert (None, None) == (cells["micro-batch"]["p50_ms"], cells["real-time"]["below_micro_batch"])
    assert b"micro-batch" not in draw(content, tmp_path, "latency")[0].read_bytes()
    assert "-" in table(content["cells"]).columns[2].cells


@pytest.mark.parametrize(
    ("width", "shown", "left_out"),
    [(40, 2, "p99, p99.9, max, times floor"), (60, 4, "max, times floor"), (160, 6, "")],
    ids=["40", "60", "160"],
)
def test_terminal_shows_whole_numbers_and_names_what_it_has_no_room_for(width: int, shown: int, left_out: str) -> None:
    """Half a number would be wrong, and what matters most stands first."""
    trials = [trial("stateful", "real-time", [2_345] * 10), trial("echo", "raw echo", [1] * 10)]
    output = io.StringIO()

    show(summarise(trials), Console(file=output, width=width))

    assert shown == output.getvalue().count("2,345")
    assert (f"a wider terminal shows also: {left_out}" in " ".join(output.getvalue().split())) == bool(left_out)
    assert "…" not in output.getvalue()


def test_chart_is_made_from_the_json_alone_and_always_the_same(tmp_path: Path) -> None:
    """The committed chart can be drawn again from the committed numbers."""
    works = itertools.product(("stateless", "stateful"), ("micro-batch", "real-time"))
    trials = [trial("echo", "raw echo", [1, 2, 3]), *(trial(*work, [2, 5, 90]) for work in works)]
    content = json.loads(json.dumps(summarise(trials)))

    first = draw(content, tmp_path, "latency")[0].read_bytes()
    (tmp_path / "latency.svg").unlink()
    second = draw(content, tmp_path, "latency")[0].read_bytes()

    assert first == second
    assert b"stateful: median of the runs" in first
