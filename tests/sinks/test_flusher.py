import math
import traceback
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from tests.sinks.helpers import COLUMNS, Table, do, row, sink_of, write

pytestmark = pytest.mark.services

PERSON = "alice@example.org"
CYCLIC: dict[str, Any] = {"a": PERSON}
CYCLIC["b"] = CYCLIC
UNUSABLE: dict[str, tuple[str, str, Any]] = {
    # NaN is higher than every number in PostgreSQL, so a row with this version could never be updated again.
    "infinity": ("version", "double precision", math.inf),
    "decimal-NaN": ("version", "numeric(20, 0)", Decimal("NaN")),
    "NaN-for-bigint": ("version", "bigint", math.nan),
    "text-for-bigint": ("version", "bigint", "10"),
    "null": ("version", "timestamp(3) with time zone", None),
    "cyclic": ("value", "jsonb", CYCLIC),
    "no-json": ("value", "jsonb", {"at": {PERSON}}),
    "no-time-in-utc": ("value", "timestamptz", datetime.max.replace(tzinfo=timezone(-timedelta(hours=9)))),
}


@pytest.mark.parametrize(("column", "type_name", "value"), UNUSABLE.values(), ids=UNUSABLE)
def test_row_that_can_never_be_stored_is_refused_before_it_is_buffered(column: str, type_name: str, value: Any) -> None:
    rejected = list[str]()
    columns, bad_row = COLUMNS | {column: type_name}, {"key": PERSON, "version": 1, "value": PERSON, column: value}
    nowhere = Table("host=127.0.0.1 port=1", "nowhere")

    write(sink_of(nowhere, columns=columns, on_rejected=lambda _row, reason: rejected.append(reason)), bad_row)
    with pytest.raises(ValueError, match="a row has an unusable") as failure:
        write(sink_of(nowhere, columns=columns), bad_row)

    assert [str(failure.value)] == rejected
    assert rejected[0].startswith(f"a row has an unusable {column}: column ('{column}',)")
    assert PERSON not in rejected[0]


def test_keys_that_only_postgresql_finds_equal_keep_the_newest_version(table: Table) -> None:
    do(table.dsn, f"alter table {table.name} alter key type char(4)")  # ignores spaces at the end of a value
    sink = sink_of(table, columns=COLUMNS | {"key": "char(4)"}, linger_ms=60_000)

    write(sink, row("a", 1), row("b ", 5), row("a ", 3), row("b", 4), row("c", 1))

    assert {"a   ": (3, ""), "b   ": (5, ""), "c   ": (1, "")} == table.rows()
    assert 5 == sink.metrics.flushed


def test_rejected_rows_go_to_the_function_and_others_are_stored(table: Table) -> None:
    rejected: dict[str, str] = {}
    sink = sink_of(
        table, linger_ms=60_000, on_rejected=lambda values, reason: rejected.update({values["value"]: reason})
    )
    do(table.dsn, f"alter table {table.name} add check (version < 1000)")
    bad_rows = [row("a", 1, "nul \0"), row("b", 1000, "check"), {"key": None, "version": 1, "value": "null"}]
    bad_rows += [
        row("c", 1, "\ud800"),
        row("e", 2**63, "large"),
        row("f", 2**70, "huge"),
        {"key": "d", "version": math.nan, "value": "nan"},
    ]

    write(sink, *(row(str(n), 1) for n in range(20)), *bad_rows, *(row(str(n), 1) for n in range(20, 40)))

    assert {str(n): (1, "") for n in range(40)} == table.rows()
    assert {bad_row["value"] for bad_row in bad_rows} == set(rejected)
    assert "CharacterNotInRepertoire, SQLSTATE 22021" == rejected["nul \0"]
    assert (7, 40) == (sink.metrics.rejected_rows, sink.metrics.flushed)


def test_error_of_the_reject_function_fails_the_task(table: Table) -> None:
    def fail(_values: Mapping[str, Any], _reason: str) -> None:
        raise OSError("reject topic is unavailable")

    do(table.dsn, f"alter table {table.name} add check (version < 1000)")

    with pytest.raises(RuntimeError, match="could not write 1 rows") as failure:
        write(sink_of(table, on_rejected=fail), row(PERSON, 1000))

    text = "".join(traceback.format_exception(failure.value))
    assert "reject topic is unavailable" in text
    assert PERSON not in text
