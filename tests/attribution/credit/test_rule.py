from dataclasses import replace
from typing import Any

import pytest

from examples.attribution.credit.models import DAY_MS, CreditRules, Lookback
from examples.attribution.credit.rule import Conversion, OrderCredit, Touch, assign_credit

T = 100 * DAY_MS
RULES = CreditRules(model="linear")
ORDER = Conversion("events:0:1", "a", "o", T, "e", 100, T + 1, T + 2, T + 3)


def touch(name: str, age_ms: int, kind: str = "click", **fields: Any) -> Touch:
    """Return a valid touch `age_ms` before the order, stored without delay."""
    values = {"event_id": name, "impression_id": f"{name}-id", "campaign_id": "c", "stored_at": T - age_ms, **fields}
    return Touch(name, values.pop("version", 2), kind, values.pop("is_valid", True), T - age_ms, **values)


def credit_of(*touches: Touch, rules: CreditRules = RULES, records: tuple[Conversion, ...] = (ORDER,)) -> OrderCredit:
    credit = assign_credit("u", records, touches, rules)
    assert credit == assign_credit("u", tuple(reversed(records)), tuple(reversed(touches)), rules)
    return credit


def path(*touches: Touch, rules: CreditRules = RULES) -> list[str]:
    return [share.result_id for share in credit_of(*touches, rules=rules).credits]


@pytest.mark.parametrize(("kind", "window_ms"), [("click", 7 * DAY_MS), ("impression", DAY_MS)])
def test_touch_earns_only_inside_its_lookback_window(kind: str, window_ms: int) -> None:
    """Clicks earn for seven days and impressions for one; both ends belong to the window."""
    ages_ms = (-1, 0, window_ms - 1, window_ms, window_ms + 1)

    assert [[], ["x"], ["x"], ["x"], []] == [path(touch("x", age_ms, kind, stored_at=T)) for age_ms in ages_ms]


def test_campaign_can_override_the_lookback_windows() -> None:
    rules = replace(RULES, lookback_of_campaign={"short": Lookback(10, 0)})

    assert ["y"] == path(touch("x", 11, campaign_id="short"), touch("y", 11), rules=rules)


def test_click_takes_all_credit_from_impressions() -> None:
    """
    With click priority, impressions earn only if no click is in its window; without it, both earn.

    An impression never earns with its own click.
    """
    click, view = touch("k", 20), touch("v", 10, "impression")

    assert ["k"] == path(view, click)
    assert ["v"] == path(view)
    both_earn = replace(RULES, click_priority=False)
    assert ["k", "v"] == path(view, click, rules=both_earn)
    assert ["k"] == path(replace(view, impression_id=click.impression_id), click, rules=both_earn)


def test_touches_are_ordered_by_time_then_click_then_event_id() -> None:
    """The order of touches is total, so credit cannot depend on the order of arrival."""
    rules = replace(RULES, click_priority=False)
    touches = [touch("b", 5), touch("a", 5), touch("0", 5, "impression"), touch("z", 6)]

    assert ["z", "a", "b", "0"] == path(*touches, rules=rules)


def test_all_touches_of_one_campaign_earn() -> None:
    credit = credit_of(touch("x", 3), touch("y", 2), touch("z", 1))

    assert [("c", 333_334, 34), ("c", 333_333, 33), ("c", 333_333, 33)] == [
        (share.campaign_id, share.credit_millionths, share.value_micros) for share in credit.credits
    ]


def test_key_campaign_marks_the_key_touch_of_w() -> None:
    rules = replace(RULES, model="w", key_campaigns=frozenset({"lead"}))
    campaigns = {"a": "lead", "b": "c", "c": "lead", "d": "lead"}
    touches = [touch(name, 9 - n, campaign_id=campaign) for n, (name, campaign) in enumerate(campaigns.items())]

    credit = credit_of(*touches, rules=rules)

    assert [30, 10, 30, 30] == [share.value_micros for share in credit.credits]


def test_long_path_keeps_its_oldest_and_newest_touches() -> None:
    touches = [touch(name, 10 - n) for n, name in enumerate("abcde")]
    rules = replace(RULES, max_path_touches=3)

    assert ["a", "d", "e"] == path(*touches, rules=rules)
    assert credit_of(*touches, rules=rules).path_truncated
    assert not credit_of(*touches[:3], rules=rules).path_truncated


def test_touch_earns_if_stored_soon_after_the_order() -> None:
    last_ms = ORDER.stored_at + RULES.lateness_ms

    found = [credit_of(touch("x", 5, stored_at=last_ms + late_ms)) for late_ms in (-1, 0, 1)]

    assert [(1, 0), (1, 0), (0, 1)] == [(len(credit.credits), credit.late_touches) for credit in found]


def test_newest_version_of_a_touch_in_time_counts() -> None:
    """A touch that becomes a duplicate loses its credit, unless that version is stored too late."""
    matched = touch("x", 5)
    duplicate = replace(matched, version=4, is_valid=False)
    too_late = replace(duplicate, stored_at=ORDER.stored_at + RULES.lateness_ms + 1)

    assert [] == path(matched, duplicate)
    assert ["x"] == path(matched, too_late)


def test_repeated_order_has_its_first_time_and_last_value() -> None:
    """Copies count as records of one order, and a changed value changes the money unless it is stored too late."""
    copy = replace(ORDER, src="events:0:2", event_id="f", effective_ts=T + 5, stored_at=T + 50)
    changed = replace(copy, src="events:0:3", effective_ts=T + 6, value_micros=70)
    too_late = replace(changed, src="events:0:4", effective_ts=T + 7, value_micros=1, stored_at=T + DAY_MS)

    credit = credit_of(touch("x", -1), touch("y", 1), records=(ORDER, copy, changed, too_late))

    assert (T, 70, 4, ["y"]) == (
        credit.effective_ts,
        credit.value_micros,
        credit.records,
        [share.result_id for share in credit.credits],
    )
    assert 70 == sum(share.value_micros for share in credit.credits)
