import json
import math
from collections.abc import Sequence
from contextlib import suppress

import pytest

from spark_rtm.prove.checks.slow import Clock, fields_to_fill, search
from spark_rtm.testing.records import Sent
from tests.prove.records.test_hostile import GOOD_RECORD, READ

FIELDS = fields_to_fill(GOOD_RECORD, READ)


def _seconds(power: float, field: str = "note", machine: float = 1.0) -> Clock:
    """Return a clock for a query that needs `length ** power` nanoseconds for a text in `field`."""

    def clock(records: Sequence[Sent]) -> float:
        total = 0.1
        for record in records:
            with suppress(ValueError, AttributeError):
                total += len(json.loads(record.value or b"").get(field, "")) ** power * 1e-9
        return total * machine if total * machine < 20 else math.inf

    return clock


@pytest.mark.parametrize(
    ("clock", "found"),
    [
        (_seconds(2), [("note", 80_000)]),
        (_seconds(6), [("note", 1_000)]),
        (_seconds(1, machine=30), []),
        (_seconds(2, field="unread"), []),
    ],
    ids=["quadratic", "endless", "slow machine", "field that is not read"],
)
def test_field_is_slow_if_a_long_text_needs_much_longer_than_a_good_record(
    clock: Clock, found: list[tuple[str, int]]
) -> None:
    slow, tried = search(FIELDS, GOOD_RECORD, clock)

    assert {"id", "note", "the key", "the value"} == set(FIELDS)
    assert (found, 80_000) == ([(one.field, one.length) for one in slow], tried)


def test_search_for_slow_fields_ends_in_time() -> None:
    calls = list[int]()

    def clock(records: Sequence[Sent]) -> float:
        calls.append(len(records))
        if len(calls) > 2:
            raise TimeoutError
        return 0.1

    assert ([], 8_000) == search(FIELDS, GOOD_RECORD, clock)
