from collections import deque
from typing import Any

import psycopg
import pytest

from spark_rtm.sinks.metrics import Metrics
from spark_rtm.sinks.statement import check_target
from tests.sinks.helpers import COLUMNS, Table, do, row, sink_of, write

REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    "dotted-table": ({"table": "ads.won"}, r"expected \(schema, table\)"),
    "key-as-text": ({"key": "id"}, "expected a tuple of at least one column"),
    "no-key": ({"key": ()}, "expected a tuple of at least one column"),
    "unknown-key": ({"key": ("idd",)}, r"key columns 'idd' are not in `columns`"),
    "unknown-version": ({"version": "v"}, "version 'v' is not in `columns`"),
    "version-in-key": ({"version": "id"}, "version 'id' is part of the key"),
    "text-as-version": ({"version": "n", "columns": {"id": "text", "n": "Text"}}, "version 'n' has the type 'text'"),
    "no-version": ({}, "pass `version`, or accept this with allow_reverts=True"),
    "empty-name": ({"table": ("", "won")}, "a table or column name is empty"),
    "array-type": ({"columns": {"id": "text", "n": "int[]"}}, "store arrays as jsonb"),
    "injected-type": ({"columns": {"id": "text); drop table won; --"}}, r"unsupported types for columns \['id'\]"),
}


@pytest.mark.parametrize(("change", "message"), REJECTED.values(), ids=REJECTED)
def test_invalid_target_is_rejected_on_the_driver(change: dict[str, Any], message: str) -> None:
    target = {"table": ("ads", "won"), "key": ("id",), "columns": {"id": "text", "n": "int"}, "version": None}

    with pytest.raises(ValueError, match=message):
        check_target(**(target | change), allow_reverts=False)


TOO_LONG = {
    "varchar": ("varchar(4)", "user", "user1"),
    "char": ("char(4)", "user", "user1"),
    "bit": ("bit(4)", "1011", "10111"),
    "spaced": ("character varying (4)", "user", "user1"),
}


@pytest.mark.services
@pytest.mark.parametrize(("type_name", "fits", "too_long"), TOO_LONG.values(), ids=TOO_LONG)
def test_value_longer_than_its_column_is_refused(table: Table, type_name: str, fits: str, too_long: str) -> None:
    do(table.dsn, f"alter table {table.name} alter value type {type_name} using null")
    columns = COLUMNS | {"value": type_name}
    write(sink_of(table, columns=columns), row("a", 1, fits))

    with pytest.raises(RuntimeError) as failure:
        write(sink_of(table, columns=columns), row("b", 1, too_long))

    assert isinstance(failure.value.__cause__, psycopg.DataError)
    assert {"a": (1, fits)} == table.rows()


@pytest.mark.services
@pytest.mark.parametrize("type_name", ["{0}_code", "name"])
def test_type_that_truncates_in_a_cast_is_refused(table: Table, type_name: str) -> None:
    """Domains and internal types are refused by name, because the server would truncate their values silently."""
    do(table.dsn, f"create domain {table.name}_code as varchar(4)")
    columns = COLUMNS | {"value": type_name.format(table.name)}

    with pytest.raises(RuntimeError) as failure:
        write(sink_of(table, columns=columns), row("a", 1, "user1"))

    assert "pass the type on which the domain is based" in str(failure.value.__cause__)
    assert {} == table.rows()
    do(table.dsn, f"drop domain {table.name}_code")


@pytest.mark.services
def test_enum_column_accepts_its_own_labels(table: Table) -> None:
    do(table.dsn, f"create type \"{table.name}_Color\" as enum ('red'); alter table {table.name} drop value")
    do(table.dsn, f'alter table {table.name} add value "{table.name}_Color"')

    write(sink_of(table, columns=COLUMNS | {"value": f'public."{table.name}_Color"'}), row("a", 1, "red"))

    assert {"a": (1, "red")} == table.rows()
    do(table.dsn, f'drop type "{table.name}_Color" cascade')


def test_percentiles_of_a_hundred_flushes_are_nearest_ranks() -> None:
    metrics = Metrics(flush_ms=deque(map(float, range(1, 101))))

    assert "flush_ms_p50=50.0 flush_ms_p99=99.0 flush_ms_max=100.0" in metrics.line()
