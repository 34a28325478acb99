import json
from collections.abc import Mapping

import pytest
from playwright.sync_api import Page

from scripts.pack import files

pytestmark = pytest.mark.services

CASES = json.loads((files.ROOT / "tests/pages/slot_cases.json").read_text(encoding="utf-8"))
FIELDS = ("source_partitions", "repartitions", "shuffle_partitions", "stateful_stages", "queries")
OUTCOMES = [
    ({"stateful_stages": 0, "slots_available": 8}, "Enough: 8 of 8 available slots are used, 0 are left"),
    ({"stateful_stages": 0, "slots_available": 6}, "Too few: 2 of 8 source partitions are never read"),
    (
        {"stateful_stages": 1, "slots_available": 13},
        "1 slot is missing. After start(), the query fails with CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT",
    ),
    ({"slots_available": 20, "queries": 2}, "Too few: 1 of 2 queries fit"),
]


@pytest.fixture
def calculator(phone: Page, address: str) -> Page:
    phone.goto(f"{address}references/cluster_and_slots.html")
    return phone


def enter(page: Page, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        page.locator(f"#{name}").fill(str(value))


def shown(page: Page, name: str) -> str:
    return page.locator(f"#{name}").inner_text()


def test_calculator_shows_the_same_slots_as_preflight(calculator: Page) -> None:
    slots_shown = {}
    for case in CASES:
        joined = ", ".join(map(str, case["repartitions"]))
        enter(calculator, {name: case[name] for name in FIELDS} | {"repartitions": joined})
        slots_shown[case["query"]] = shown(calculator, "slots_needed")

    assert {case["query"]: str(case["slots_needed"]) for case in CASES} == slots_shown


def test_calculator_shows_effect_of_missing_slots_and_of_the_engine(calculator: Page) -> None:
    """`maxPartitions` reduces the slots on Databricks only; an invalid number gives no result."""
    for values, outcome in OUTCOMES:
        enter(calculator, values)
        assert outcome in shown(calculator, "slots_outcome")

    enter(calculator, {"queries": 1, "max_partitions": 2})
    assert "14" == shown(calculator, "slots_needed")
    assert "maxPartitions has no effect on OSS 4.3.0" in shown(calculator, "slots_cluster")
    calculator.locator("#engine").select_option("databricks")
    assert "8" == shown(calculator, "slots_needed")
    assert "Cluster: 1 worker with 16 cores, fixed size, no autoscaling, no spot instances." == shown(
        calculator, "slots_cluster"
    )
    enter(calculator, {"repartitions": "four"})
    assert ("?", "Enter a valid number in each field.") == (
        shown(calculator, "slots_needed"),
        shown(calculator, "slots_sum"),
    )


def test_address_of_the_calculator_shows_the_same_numbers_again(calculator: Page, address: str) -> None:
    enter(calculator, {"source_partitions": 3, "repartitions": "4, 5", "queries": 2})
    shared, needed = calculator.evaluate("location.href"), shown(calculator, "slots_needed")
    calculator.goto("about:blank")
    calculator.goto(shared)
    again = shown(calculator, "slots_needed"), calculator.locator("#repartitions").input_value()
    calculator.goto("about:blank")
    calculator.goto(f"{address}references/cluster_and_slots.html#slot-form?queries=%3Cb%3E&unknown=1")

    assert (("36", ("36", "4, 5")), "?") == ((needed, again), shown(calculator, "slots_needed"))
