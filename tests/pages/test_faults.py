import json
from collections import Counter
from itertools import pairwise
from typing import Any

from benchmarks.chaos.faults import KINDS
from benchmarks.soak import __main__ as soak
from benchmarks.soak import trends
from examples.attribution.credit.models import CreditRules
from examples.attribution.settings import DemoSettings
from scripts.pack import files

RUNS = json.loads((files.ROOT / "references/measured/chaos.json").read_text())["runs"]
INCIDENTS = [incident for run in RUNS for incident in run["incidents"]]
RUN = json.loads((files.ROOT / "references/measured/soak.json").read_text())
PAGE = (files.ROOT / "references/faults.md").read_text()
QUERIES = 5


def rows(group: str) -> dict[str, dict[str, Any]]:
    return {row["part"]: row for row in RUN["growth"] if row["group"] == group}


def largest_fall(minutes: list[float]) -> float:
    return max((before - after) / before for before, after in pairwise(minutes) if before)


def test_a_hundred_faults_of_all_kinds_lost_nothing() -> None:
    """Results that were not committed at a kill of the driver are written again, and none is lost or wrong."""
    times = Counter(incident["fault"] for incident in INCIDENTS)
    replayed = {fault: sum(one["replayed"] for one in INCIDENTS if one["fault"] == fault) for fault in times}

    assert KINDS.keys() == times.keys()
    assert {1} == {times[name] for name, kind in KINDS.items() if kind.needs == "cluster"}
    assert len(INCIDENTS) >= 100
    assert len({run["seed"] for run in RUNS}) >= 3
    assert 0 == sum(run["failed_sends"] for run in RUNS)
    assert {(0, 0)} == {(run["lost"], run["wrong"]) for run in RUNS}
    assert all(incident["seconds"] for incident in INCIDENTS)
    assert replayed["kill-driver"] + replayed["kill-jvm"] > 1000
    assert 0 == sum(rows for fault, rows in replayed.items() if fault.startswith("jump-"))


def test_run_lasted_two_hours_and_reconciled() -> None:
    assert RUN["conditions"]["duration_seconds"] >= 7200
    assert RUN["records"] > 7200 * RUN["conditions"]["rate"]
    assert 0 == RUN["differences"]


def test_page_states_the_limits_of_the_code() -> None:
    assert (
        f"at most {trends.MIN_SHARE:.0%} of its median, or at most {trends.NOISE:g} times the median absolute deviation"
        in PAGE
    )
    assert f"level | the median from minute {trends.SETTLING_MINUTES} on; " in PAGE
    assert f"lowest values of {trends.COLLECTION_MINUTES} minutes" in PAGE
    assert f"A run takes at least {soak.MIN_MINUTES} minutes" in PAGE


def test_run_ends_with_status_1_for_two_growths_without_a_known_cause() -> None:
    causes = {(row["group"], row["part"]): row["cause"] for row in RUN["growth"] if row["cause"]}
    grown = {(row["group"], row["part"]) for row in RUN["growth"] if row["trend"] == "grows as expected"}
    unknown = [(row["group"], row["part"]) for row in RUN["growth"] if row["trend"] == "grows"]

    assert trends.EXPECTED == causes
    assert grown <= causes.keys()
    assert [("handles", "PostgreSQL"), ("checkpoint_mib", "events_to_attributed")] == unknown
    assert (1, 2) == (soak.exit_status(RUN), len([*trends.unexpected(RUN["growth"])]))


def test_checkpoint_files_stay_constant_after_a_hundred_batches() -> None:
    files_of, settings = rows("checkpoint_files"), DemoSettings()
    seconds = dict.fromkeys(files_of, RUN["conditions"]["interval_seconds"])
    seconds |= dict.fromkeys(("events_to_timeouts", "touches_to_credit"), settings.python_interval_seconds)

    assert QUERIES == len(files_of)
    assert {25, 8} == {int(100 * interval / 60) for interval in seconds.values()}
    for part, row in files_of.items():
        hundred_batches = int(100 * seconds[part] / 60)
        assert row["minutes"][hundred_batches // 2] < 0.6 * row["level"]
        later = row["minutes"][hundred_batches + 2 :]
        assert 0.89 * row["level"] < min(later) <= max(later) < 1.1 * row["level"]


def test_only_state_with_a_long_window_grows() -> None:
    """The credit query keeps its touches; the rows of all other queries expire."""
    grow = [part for part, row in rows("state_rows").items() if row["trend"].startswith("grows")]

    assert ["touches_to_credit"] == grow
    lookback_minutes = CreditRules().scaled(DemoSettings().time_scale).max_window_ms / 60_000
    assert 168 == lookback_minutes > RUN["conditions"]["duration_seconds"] / 60


def test_state_memory_rises_to_the_same_number_in_all_queries() -> None:
    """The memory of each state reaches 18 MiB, and then stays at 18 to 20 MiB."""
    memory = rows("state_mib")
    reached = {part: next(n for n, mib in enumerate(row["minutes"]) if mib >= 17.95) for part, row in memory.items()}

    assert ["touches_to_credit", "attributed_to_pacing"] == [p for p, row in memory.items() if row["trend"] != "steady"]
    assert (14, 117) == (min(reached.values()), max(reached.values()))
    assert 18 == max(memory["attributed_to_pacing"]["minutes"])
    later = [mib for part, row in memory.items() for mib in row["minutes"][reached[part] :]]
    assert (17.9, 20) == (min(later), max(later))


def test_heap_of_spark_falls_repeatedly_and_does_not_grow() -> None:
    heap = rows("jvm_mib")["heap"]

    assert all(largest_fall(heap["minutes"][at : at + 11]) > 0.1 for at in range(0, 120, 10))
    assert {"steady"} == {row["trend"] for row in (heap, rows("handles")["Spark"], rows("jvm_threads")["Spark"])}
