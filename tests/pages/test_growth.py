import json
from typing import Any

import pytest

from scripts.pack import files

MEASURED = files.ROOT / "references/measured"
RUNS: list[dict[str, Any]] = json.loads((MEASURED / "growth.json").read_text())["runs"]
PAGE = (files.ROOT / "references/growth.md").read_text()
BASES = [row for row in RUNS if row["dimension"] == "base"]
NOISE = 0.2
"""Maximum relative difference of equal runs; smaller effects are noise."""


def times_base(quantity: str, row: dict[str, Any]) -> float:
    return float(row[quantity] / (sum(base[quantity] for base in BASES) / len(BASES)))


def test_equal_runs_differ_by_less_than_the_noise() -> None:
    """The first and the last run are equal, and differ in cores and pause by less than the tests below allow."""
    assert 2 == len(BASES)
    for quantity in ("busy_cores", "pause_ms"):
        assert abs(times_base(quantity, BASES[0]) - 1) < NOISE / 2


@pytest.mark.parametrize(
    ("name", "value", "quantity", "least", "most"),
    [
        ("rate", 4_000, "busy_cores", 1.5, 4),
        ("queries", 4, "busy_cores", 2, 4),
        ("partitions", 8, "pause_ms", 1.5, 10),
        ("queries", 4, "pause_ms", 1.5, 10),
        ("partitions", 8, "p99_ms", 3, 100),
        ("queries", 4, "p99_ms", 3, 100),
    ],
)
def test_input_raises_the_quantity_that_the_page_names(
    name: str, value: int, quantity: str, least: float, most: float
) -> None:
    """Rate and queries raise the CPU time; 8 partitions or 4 queries raise the pause and p99."""
    [row] = [row for row in RUNS if (row["dimension"], row[name]) == (name, value)]

    assert least < times_base(quantity, row) < most


@pytest.mark.parametrize("quantity", ["busy_cores", "pause_ms"])
def test_keys_state_and_record_size_cost_little(quantity: str) -> None:
    """10 to 100,000 keys, up to 10 million keys in the state, and 50 to 5,000 bytes differ only by noise."""
    names = ("keys", "state_keys", "record_bytes")
    rows = [row for row in RUNS if row["dimension"] in names]

    assert {10, 100_000} <= {row["keys"] for row in rows}
    assert 10_000_000 in {row["state_keys"] for row in rows}
    assert {50, 5_000} <= {row["record_bytes"] for row in rows}
    assert {} == {row["label"]: row[quantity] for row in rows if abs(times_base(quantity, row) - 1) > NOISE}
    assert [row for row in rows if abs(times_base("p99_ms", row) - 1) > NOISE]


def test_page_names_the_cost_of_a_similar_query() -> None:
    cases = json.loads((MEASURED / "latency.json").read_text())["cases"]
    [case] = [case for case in cases if (case["workload"], case["engine"]) == ("stateful", "real-time")]

    assert f"measured {case['cpu_seconds_per_million']:.0f} CPU s per million records at {case['rate']:,}/s" in PAGE


def test_runs_had_more_slots_than_cores() -> None:
    """With 8 source partitions and 8 state partitions, a query needs 16 slots; the machine has 2 cores."""
    assert 8 == max(row["partitions"] * row["queries"] for row in RUNS)
    assert 2 == max(row["cores"] for row in RUNS)
    assert "up to 16 slots on 2 cores" in PAGE
    assert all(row["kept_up"] for row in RUNS)
