"""The slot calculator, driven as a person would: by keyboard, on a phone."""

import json

import pytest
from playwright.sync_api import Page

from scripts.pack import files

CASES = json.loads((files.ROOT / "tests/pages/slot_cases.json").read_text(encoding="utf-8"))
FIELDS = ("source_partitions", "repartitions", "shuffle_partitions", "stateful_stages", "queries")


@pytest.fixture
def calculator(phone: Page, address: str) -> Page:
    """Return the calculator's page."""
    phone.goto(f"{address}references/slot_calculator.html")
    return phone


def enter(page: Page, values: dict[str, object]) -> None:
    """Fill fields by their ids."""
    for name, value in values.items():
        page.locator(f"#{name}").fill(str(value))


def shown(page: Page, name: str) -> str:
    """Return a line of the answer."""
    return page.locator(f"#{name}").inner_text()


def test_calculator_shows_the_slots_that_the_preflight_counts(calculator: Page) -> None:
    """The form and `preflight` agree, because one table of cases judges both."""
    found = {}
    for case in CASES:
        joined = ", ".join(map(str, case["repartitions"]))
        enter(calculator, {name: case[name] for name in FIELDS} | {"repartitions": joined})
        found[case["query"]] = shown(calculator, "slots_needed")

    assert {case["query"]: str(case["slots_needed"]) for case in CASES} == found


def test_calculator_is_filled_from_the_keyboard(calculator: Page) -> None:
    """Tab leads from field to field, and the answer follows what is typed."""
    calculator.locator("#source_partitions").focus()
    for typed in ("3", "4, 5", "6", "2"):
        calculator.keyboard.press("Control+A")
        calculator.keyboard.type(typed)
        calculator.keyboard.press("Tab")

    assert "queries" == calculator.evaluate("document.activeElement.id")
    assert "24" == shown(calculator, "slots_needed")
    assert "(3 source + 9 repartition + 12 state)" == shown(calculator, "slots_sum")


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({"stateful_stages": 0, "slots_available": 8}, "Enough: 8 of 8 available, 0 left"),
        ({"stateful_stages": 0, "slots_available": 6}, "Too few: 2 of 8 source partitions starve for ever"),
        ({"slots_available": 13}, "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT after start(); 1 slots are missing"),
        ({"slots_available": 20, "queries": 2}, "Too few: 1 of 2 queries fit"),
    ],
    ids=["enough", "stateless starves", "stateful is refused", "second query is refused"],
)
def test_calculator_tells_what_missing_slots_do(calculator: Page, values: dict[str, object], verdict: str) -> None:
    """A query without a shuffle starves partitions silently; one with a shuffle is refused."""
    enter(calculator, values)

    assert verdict in shown(calculator, "slots_verdict")


def test_max_partitions_packs_on_databricks_only(calculator: Page) -> None:
    """Open-source Spark takes the option and ignores it, and the form says so."""
    enter(calculator, {"max_partitions": 2})
    open_source = shown(calculator, "slots_needed"), shown(calculator, "slots_cluster")
    calculator.locator("#engine").select_option("databricks")
    databricks = shown(calculator, "slots_needed"), shown(calculator, "slots_cluster")

    assert ("14", "8") == (open_source[0], databricks[0])
    assert "maxPartitions has no effect on OSS 4.3.0" in open_source[1]
    assert "Cluster: 1 worker of 16 cores, a fixed number without autoscaling or spot instances." == databricks[1]


def test_field_without_a_number_gives_no_answer(calculator: Page) -> None:
    """A number that cannot be right is not calculated with."""
    enter(calculator, {"repartitions": "four"})

    assert ("?", "A field has no usable number.") == (shown(calculator, "slots_needed"), shown(calculator, "slots_sum"))
