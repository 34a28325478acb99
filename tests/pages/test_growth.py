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


@pytest.mark.parametrize(
    ("name", "value", "quantity", "least"),
    [
        ("rate", 4_000, "busy_cores", 1.5),
        ("queries", 4, "busy_cores", 2),
        ("partitions", 8, "pause_ms", 1.5),
        ("queries", 4, "pause_ms", 1.5),
        ("partitions", 8, "p99_ms", 3),
        ("queries", 4, "p99_ms", 3),
    ],
)
def test_input_raises_the_quantity_that_the_page_names(name: str, value: int, quantity: str, least: float) -> None:
    [row] = [row for row in RUNS if (row["dimension"], row[name]) == (name, value)]

    assert least < times_base(quantity, row)


@pytest.mark.parametrize("quantity", ["busy_cores", "pause_ms"])
def test_keys_state_and_record_size_cost_little(quantity: str) -> None:
    dimensions = {"base", "keys", "state_keys", "record_bytes"}
    rows = [row for row in RUNS if row["dimension"] in dimensions]

    assert dimensions == {row["dimension"] for row in rows}
    assert {} == {row["label"]: row[quantity] for row in rows if abs(times_base(quantity, row) - 1) > NOISE}
    assert [row for row in rows if abs(times_base("p99_ms", row) - 1) > NOISE]


def test_page_names_slots_and_the_cost_of_a_similar_query() -> None:
    """With 8 source partitions and 8 state partitions, a query needs 16 slots; the machine has 2 cores."""
    cases = json.loads((MEASURED / "latency.json").read_text())["cases"]
    [case] = [case for case in cases if (case["workload"], case["engine"]) == ("stateful", "real-time")]

    assert f"measured {case['cpu_seconds_per_million']:.0f} CPU s per million records at {case['rate']:,}/s" in PAGE
    slots = 2 * max(row["partitions"] * row["queries"] for row in RUNS)
    assert f"up to {slots} slots on {max(row['cores'] for row in RUNS)} cores" in PAGE
    assert all(row["kept_up"] for row in RUNS)
