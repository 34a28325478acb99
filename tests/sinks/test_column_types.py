"""Values that do not fit a column are refused, never truncated or merged."""

import psycopg
import pytest

from tests.sinks.helpers import COLUMNS, Table, do, row, sink_of, write

pytestmark = pytest.mark.services

TOO_LONG = {
    "varchar": ("varchar(4)", "user", "user1"),
    "char": ("char(4)", "user", "user1"),
    "bit": ("bit(4)", "1011", "10111"),
    "spaced": ("character varying (4)", "user", "user1"),
}


@pytest.mark.parametrize(("type_name", "fits", "too_long"), TOO_LONG.values(), ids=TOO_LONG)
def test_value_longer_than_its_column_is_refused(table: Table, type_name: str, fits: str, too_long: str) -> None:
    """A longer value fails the task, as in a plain insert, instead of being truncated."""
    do(table.dsn, f"alter table {table.name} alter value type {type_name} using null")
    columns = COLUMNS | {"value": type_name}
    write(sink_of(table, columns=columns), row("a", 1, fits))

    with pytest.raises(RuntimeError) as failure:
        write(sink_of(table, columns=columns), row("b", 1, too_long))

    assert isinstance(failure.value.__cause__, psycopg.DataError)
    assert {"a": (1, fits)} == table.rows()


@pytest.mark.parametrize("type_name", ["{0}_code", "name", '"char"', "pg_catalog.char"])
def test_type_that_truncates_in_a_cast_is_refused(table: Table, type_name: str) -> None:
    """Domains and internal types are refused by name, because the server would truncate their values silently."""
    do(table.dsn, f"create domain {table.name}_code as varchar(4)")
    columns = COLUMNS | {"value": type_name.format(table.name)}

    with pytest.raises(RuntimeError) as failure:
        write(sink_of(table, columns=columns), row("a", 1, "user1"))

    assert "pass the type on which the domain is based" in str(failure.value.__cause__)
    assert {} == table.rows()
    do(table.dsn, f"drop domain {table.name}_code")


def test_domain_column_with_its_base_type_refuses_longer_values(table: Table) -> None:
    do(table.dsn, f"create domain {table.name}_code as varchar(4)")
    do(table.dsn, f"alter table {table.name} alter value type {table.name}_code")
    write(sink_of(table), row("a", 1, "user"))

    with pytest.raises(RuntimeError):
        write(sink_of(table), row("b", 1, "user1"))

    assert {"a": (1, "user")} == table.rows()
    do(table.dsn, f"drop domain {table.name}_code cascade")


def test_enum_column_accepts_its_own_labels(table: Table) -> None:
    do(table.dsn, f"create type \"{table.name}_Color\" as enum ('red'); alter table {table.name} drop value")
    do(table.dsn, f'alter table {table.name} add value "{table.name}_Color"')

    write(sink_of(table, columns=COLUMNS | {"value": f'public."{table.name}_Color"'}), row("a", 1, "red"))

    assert {"a": (1, "red")} == table.rows()
    do(table.dsn, f'drop type "{table.name}_Color" cascade')
