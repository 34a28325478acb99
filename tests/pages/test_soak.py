"""The statements of the page about the run of hours follow from its published samples."""

import json
from itertools import pairwise
from typing import Any

import pytest

from scripts.pack import files

RUN = json.loads((files.ROOT / "references/measured/soak.json").read_text())
SETTLING_MINUTES = 40
QUERIES = 5


def rows(group: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a group by their part."""
    return {row["part"]: row for row in RUN["growth"] if row["group"] == group}


def largest_fall(minutes: list[float]) -> float:
    """Return the largest fall from one minute to the next, as a share of the value before."""
    return max((before - after) / before for before, after in pairwise(minutes) if before)


def test_run_lasted_two_hours_and_reconciled() -> None:
    """The table shows a run of at least two hours without a difference."""
    assert RUN["conditions"]["duration_seconds"] >= 7200
    assert RUN["records"] > 7200 * RUN["conditions"]["rate"]
    assert 0 == RUN["differences"]


def test_two_growths_have_no_known_cause() -> None:
    """The page names the two resources whose growth has no known cause."""
    unknown = [(row["group"], row["part"], round(row["per_hour"])) for row in RUN["growth"] if row["trend"] == "grows"]

    assert [("handles", "PostgreSQL", 5), ("checkpoint_mib", "events_to_attributed", 2)] == unknown
    assert 145 == round(rows("handles")["PostgreSQL"]["level"])
    assert 20 == round(rows("checkpoint_mib")["events_to_attributed"]["level"])
    assert [] == [row["part"] for row in RUN["growth"] if row["trend"] == "grows as expected" and not row["cause"]]


def test_checkpoint_files_stay_constant_after_a_hundred_batches() -> None:
    """The number of files grows for a hundred batches, and then stays within a tenth."""
    files_of = rows("checkpoint_files")

    assert QUERIES == len(files_of)
    hundred_batches = 100 * RUN["conditions"]["interval_seconds"] // 60
    for row in files_of.values():
        assert row["minutes"][hundred_batches // 2] < 0.9 * row["level"] or row["part"] in MICRO_BATCH
        assert max(row["minutes"][SETTLING_MINUTES:]) < 1.1 * row["level"]


MICRO_BATCH = ("events_to_timeouts", "touches_to_credit")
"""These queries commit every five seconds."""


def test_only_state_with_a_long_window_grows() -> None:
    """The credit query keeps its touches; the rows of all other queries expire."""
    grow = [part for part, row in rows("state_rows").items() if row["trend"].startswith("grows")]

    assert ["touches_to_credit"] == grow


def test_only_one_state_grows_without_more_rows() -> None:
    """The memory of one state grows although its rows do not, and is far below the write buffers."""
    grow = [part for part, row in rows("state_mib").items() if row["trend"] != "steady"]

    assert ["touches_to_credit", "attributed_to_pacing"] == grow
    assert "falls" == rows("state_rows")["attributed_to_pacing"]["trend"]
    assert rows("state_mib")["attributed_to_pacing"]["level"] < 64


@pytest.mark.parametrize(("group", "part"), [("jvm_mib", "heap"), ("jvm_classes", "Spark")])
def test_garbage_collection_ends_each_rise(group: str, part: str) -> None:
    """Heap and classes rise, and lose at least a tenth within a minute; their lowest use does not grow."""
    row = rows(group)[part]

    assert largest_fall(row["minutes"][SETTLING_MINUTES:]) > 0.1
    assert "grows" not in row["trend"]


@pytest.mark.parametrize("group", ["handles", "jvm_threads"])
def test_handles_and_threads_of_spark_stay_constant(group: str) -> None:
    """Spark leaks no open files, connections or threads."""
    assert "steady" == rows(group)["Spark"]["trend"]
