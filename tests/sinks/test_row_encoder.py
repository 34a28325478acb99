"""Rows that can never be compared or stored are refused before they are buffered."""

import math
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from tests.sinks.helpers import COLUMNS, Table, sink_of, write

PERSON = "alice@example.org"
UNUSABLE_VERSIONS = {
    "infinity": ("double precision", math.inf),
    "decimal-NaN": ("numeric(20, 0)", Decimal("NaN")),
    "NaN-for-bigint": ("bigint", math.nan),
    "text-for-bigint": ("bigint", "10"),
    "null": ("bigint", None),
}


@pytest.mark.parametrize(("type_name", "version"), UNUSABLE_VERSIONS.values(), ids=UNUSABLE_VERSIONS)
def test_version_that_would_end_all_updates_is_refused(type_name: str, version: Any) -> None:
    """NaN is higher than every number in PostgreSQL, so a row with this version could never be updated again."""
    sink = sink_of(Table("host=127.0.0.1 port=1", "nowhere"), columns=COLUMNS | {"version": type_name})

    with pytest.raises(ValueError, match=r"unusable version: column \('version',\)") as failure:
        write(sink, {"key": PERSON, "version": version, "value": PERSON})

    assert PERSON not in str(failure.value)


def _nested(depth: int) -> Any:
    value: Any = PERSON
    for _ in range(depth):
        value = [value]
    return value


CYCLIC: dict[str, Any] = {"a": PERSON}
CYCLIC["b"] = CYCLIC


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("jsonb", CYCLIC),
        ("jsonb", _nested(5_000)),
        ("jsonb", {"at": {PERSON}}),
        ("timestamptz", datetime.max.replace(tzinfo=timezone(-timedelta(hours=9)))),
    ],
    ids=["cyclic", "deep", "no-json", "no-time-in-utc"],
)
def test_value_that_cannot_be_converted_reaches_on_rejected(type_name: str, value: Any) -> None:
    rejected = list[str]()
    sink = sink_of(
        Table("host=127.0.0.1 port=1", "nowhere"),
        columns=COLUMNS | {"value": type_name},
        on_rejected=lambda _row, reason: rejected.append(reason),
    )

    write(sink, {"key": "k", "version": 1, "value": value})

    (reason,) = rejected
    assert reason.startswith("a row has an unusable value: column ('value',) cannot be converted")
    assert PERSON not in reason
