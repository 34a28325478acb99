"""The credit rule: which touches are eligible, at every boundary, and what becomes of late and repeated records."""

from dataclasses import replace
from typing import Any

import pytest

from examples.attribution.credit.models import DAY_MS, CreditRules, Lookback
from examples.attribution.credit.rule import Conversion, Credited, Touch, credit

T = 100 * DAY_MS
RULES = CreditRules(model="linear")
ORDER = Conversion("events:0:1", "a", "o", T, "e", 100, T + 1, T + 2, T + 3)


def touch(name: str, age_ms: int, kind: str = "click", **fields: Any) -> Touch:
    """Return a valid touch this long before the order, stored at once."""
    values = {"event_id": name, "impression_id": f"{name}-id", "campaign_id": "c", "stored_at": T - age_ms, **fields}
    return Touch(name, values.pop("version", 2), kind, values.pop("is_valid", True), T - age_ms, **values)


def credited(*touches: Touch, rules: CreditRules = RULES, records: tuple[Conversion, ...] = (ORDER,)) -> Credited:
    """Return the answer to the order, the same for both orders of arrival."""
    answer = credit("u", records, touches, rules)
    assert answer == credit("u", tuple(reversed(records)), tuple(reversed(touches)), rules)
    return answer


def path(*touches: Touch, rules: CreditRules = RULES) -> list[str]:
    """Return the names of the touches that earn, in order."""
    return [earned.result_id for earned in credited(*touches, rules=rules).credits]


@pytest.mark.parametrize(
    ("kind", "age_ms", "expected"),
    [
        pytest.param("click", -1, [], id="click-after-the-conversion"),
        pytest.param("click", 0, ["x"], id="click-at-the-conversion"),
        pytest.param("click", 7 * DAY_MS - 1, ["x"], id="click-just-inside"),
        pytest.param("click", 7 * DAY_MS, ["x"], id="click-exactly-at"),
        pytest.param("click", 7 * DAY_MS + 1, [], id="click-just-outside"),
        pytest.param("impression", DAY_MS - 1, ["x"], id="view-just-inside"),
        pytest.param("impression", DAY_MS, ["x"], id="view-exactly-at"),
        pytest.param("impression", DAY_MS + 1, [], id="view-just-outside"),
    ],
)
def test_a_touch_counts_inside_its_lookback_only(kind: str, age_ms: int, expected: list[str]) -> None:
    """Clicks count for seven days, impressions for one; both ends are inside."""
    assert expected == path(touch("x", age_ms, kind, stored_at=T))


def test_a_campaign_may_have_lookbacks_of_its_own() -> None:
    """A campaign with a shorter window loses touches that others keep."""
    rules = replace(RULES, lookback_of_campaign={"short": Lookback(10, 0)})

    assert ["y"] == path(touch("x", 11, campaign_id="short"), touch("y", 11), rules=rules)


def test_a_click_takes_all_credit_from_views() -> None:
    """With click priority an impression earns only where no click is in its window; without it both earn."""
    click, view = touch("k", 20), touch("v", 10, "impression")

    assert ["k"] == path(view, click)
    assert ["v"] == path(view)
    assert ["k", "v"] == path(view, click, rules=replace(RULES, click_priority=False))


def test_an_impression_never_earns_beside_its_own_click() -> None:
    """One interaction is one touch, and the click wins."""
    shown, click = touch("v", 30, "impression", impression_id="i"), touch("k", 20, impression_id="i")

    assert ["k"] == path(shown, click, rules=replace(RULES, click_priority=False))


def test_touches_are_ordered_by_time_then_click_then_event_id() -> None:
    """The order is total, so that results cannot depend on arrival."""
    rules = replace(RULES, click_priority=False)
    touches = [touch("b", 5), touch("a", 5), touch("0", 5, "impression"), touch("z", 6)]

    assert ["z", "a", "b", "0"] == path(*touches, rules=rules)


def test_an_order_without_touches_is_unattributed_and_counted() -> None:
    """Organic orders are never dropped, or totals would not reconcile."""
    answer = credited()

    assert ("unattributed", 100, 1, ()) == (answer.code, answer.value_micros, answer.records, answer.credits)


def test_repeated_touches_of_a_campaign_all_earn() -> None:
    """Repeats are not collapsed; credits and money add up."""
    answer = credited(touch("x", 3), touch("y", 2), touch("z", 1))

    assert [("c", 333_334, 34), ("c", 333_333, 33), ("c", 333_333, 33)] == [
        (earned.campaign_id, earned.credit_millionths, earned.value_micros) for earned in answer.credits
    ]


def test_the_key_campaign_marks_the_key_touch_of_the_w_model() -> None:
    """The first touch between the ends that belongs to a key campaign earns as much as the ends."""
    rules = replace(RULES, model="w", key_campaigns=frozenset({"lead"}))
    names = {"a": "lead", "b": "c", "c": "lead", "d": "lead"}
    touches = [touch(name, 9 - n, campaign_id=campaign) for n, (name, campaign) in enumerate(names.items())]

    answer = credited(*touches, rules=rules)

    assert [30, 10, 30, 30] == [earned.value_micros for earned in answer.credits]


def test_a_path_above_the_cap_keeps_its_oldest_touch_and_the_newest_others() -> None:
    """Whoever opened the path stays in it, and the answer says that it was cut."""
    touches = [touch(name, 10 - n) for n, name in enumerate("abcde")]
    rules = replace(RULES, longest_path=3)

    assert ["a", "d", "e"] == path(*touches, rules=rules)
    assert credited(*touches, rules=rules).path_truncated
    assert not credited(*touches[:3], rules=rules).path_truncated


@pytest.mark.parametrize(
    ("late_ms", "expected"),
    [
        pytest.param(-1, (["x"], 0), id="just-inside"),
        pytest.param(0, (["x"], 0), id="exactly-at"),
        pytest.param(1, ([], 1), id="just-outside"),
    ],
)
def test_a_touch_counts_if_it_is_stored_soon_after_the_order(late_ms: int, expected: tuple[list[str], int]) -> None:
    """Ten minutes after the order its credits stand; later touches are counted as late."""
    late = touch("x", 5, stored_at=ORDER.stored_at + RULES.lateness_ms + late_ms)

    answer = credited(late)

    assert expected == ([earned.result_id for earned in answer.credits], answer.late_touches)


def test_the_newest_version_of_a_touch_that_is_in_time_counts() -> None:
    """A touch that turns out to be a duplicate loses its credit, unless that is found out too late."""
    matched = touch("x", 5)
    duplicate = replace(matched, version=4, is_valid=False)
    too_late = replace(duplicate, stored_at=ORDER.stored_at + RULES.lateness_ms + 1)

    assert [] == path(matched, duplicate)
    assert ["x"] == path(matched, too_late)


def test_a_repeated_order_is_one_order_with_its_first_time_and_last_value() -> None:
    """Copies are counted as records; a changed value restates the money; too late a change does not."""
    copy = replace(ORDER, src="events:0:2", event_id="f", effective_ts=T + 5, stored_at=T + 50)
    changed = replace(copy, src="events:0:3", effective_ts=T + 6, value_micros=70)
    too_late = replace(changed, src="events:0:4", effective_ts=T + 7, value_micros=1, stored_at=T + DAY_MS)

    answer = credited(touch("x", -1), touch("y", 1), records=(ORDER, copy, changed, too_late))

    assert (T, 70, 4, ["y"]) == (
        answer.effective_ts,
        answer.value_micros,
        answer.records,
        [earned.result_id for earned in answer.credits],
    )
    assert 70 == sum(earned.value_micros for earned in answer.credits)
