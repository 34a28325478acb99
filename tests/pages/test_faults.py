import json
from itertools import pairwise
from typing import Any

from benchmarks.chaos.faults import KINDS
from benchmarks.soak import __main__ as soak
from benchmarks.soak import trends
from examples.attribution.credit.models import CreditRules
from examples.attribution.settings import DemoSettings
from scripts.pack import files

RUNS = json.loads((files.ROOT / "references/measured/chaos.json").read_text())["runs"]
RUN = json.loads((files.ROOT / "references/measured/soak.json").read_text())
PAGE = (files.ROOT / "references/faults.md").read_text()
GROWING = [("handles", "PostgreSQL"), ("checkpoint_mib", "events_to_attributed")]


def rows(group: str) -> dict[str, dict[str, Any]]:
    return {row["part"]: row for row in RUN["growth"] if row["group"] == group}


def largest_fall(minutes: list[float]) -> float:
    return max((before - after) / before for before, after in pairwise(minutes) if before)


def test_faults_of_all_kinds_lost_nothing() -> None:
    incidents = [incident for run in RUNS for incident in run["incidents"]]

    assert KINDS.keys() == {incident["fault"] for incident in incidents}
    assert {(0, 0, 0)} == {(run["lost"], run["wrong"], run["failed_sends"]) for run in RUNS}
    assert all(incident["seconds"] for incident in incidents)


def test_page_states_the_limits_of_the_code() -> None:
    limits = f"at most {trends.MIN_SHARE:.0%} of its median, or at most {trends.NOISE:g} times the median absolute"
    assert f"{limits} deviation" in PAGE
    assert f"level | the median from minute {trends.SETTLING_MINUTES} on; " in PAGE
    assert f"lowest values of {trends.COLLECTION_MINUTES} minutes" in PAGE
    assert f"A run takes at least {soak.MIN_MINUTES} minutes" in PAGE


def test_two_resources_grow_without_a_known_cause() -> None:
    assert 0 == RUN["differences"]
    assert trends.EXPECTED == {(row["group"], row["part"]): row["cause"] for row in RUN["growth"] if row["cause"]}
    assert GROWING == [(row["group"], row["part"]) for row in RUN["growth"] if row["trend"] == "grows"]


def test_checkpoint_files_stay_constant_after_a_hundred_batches() -> None:
    files_of, settings = rows("checkpoint_files"), DemoSettings()
    seconds = dict.fromkeys(files_of, RUN["conditions"]["interval_seconds"])
    seconds |= dict.fromkeys(("events_to_timeouts", "touches_to_credit"), settings.python_interval_seconds)

    assert {25, 8} == {int(100 * interval / 60) for interval in seconds.values()}
    for part, row in files_of.items():
        hundred_batches = int(100 * seconds[part] / 60)
        assert row["minutes"][hundred_batches // 2] < 0.6 * row["level"]
        later = row["minutes"][hundred_batches + 2 :]
        assert 0.89 * row["level"] < min(later) <= max(later) < 1.1 * row["level"]


def test_only_state_with_a_long_window_grows() -> None:
    assert ["touches_to_credit"] == [p for p, row in rows("state_rows").items() if row["trend"].startswith("grows")]
    lookback_minutes = CreditRules().scaled(DemoSettings().time_scale).max_window_ms / 60_000
    assert 168 == lookback_minutes > RUN["conditions"]["duration_seconds"] / 60


def test_state_memory_rises_to_18_mib_and_then_stays() -> None:
    memory = {part: row["minutes"] for part, row in rows("state_mib").items()}
    reached = {part: next(n for n, mib in enumerate(minutes) if mib >= 17.95) for part, minutes in memory.items()}

    assert (14, 117) == (min(reached.values()), max(reached.values()))
    later = [mib for part, minutes in memory.items() for mib in minutes[reached[part] :]]
    assert (17.9, 20) == (min(later), max(later))


def test_heap_of_spark_falls_repeatedly_and_does_not_grow() -> None:
    heap = rows("jvm_mib")["heap"]

    assert all(largest_fall(heap["minutes"][at : at + 11]) > 0.1 for at in range(0, 120, 10))
    assert {"steady"} == {row["trend"] for row in (heap, rows("handles")["Spark"], rows("jvm_threads")["Spark"])}
