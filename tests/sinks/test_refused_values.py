"""Values that do not fit a column are refused or rejected; none is truncated, merged or shown in an error."""

import math
import traceback
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from examples.sinks import PostgresUpsertSink
from tests.sinks.helpers import COLUMNS, Table, ask, do, row, sink_of

pytestmark = pytest.mark.services


def write(sink: PostgresUpsertSink, *rows: Mapping[str, Any]) -> None:
    """Write `rows` in one epoch; after an error, close the sink and raise the error."""
    sink.open(0, 0)
    error: BaseException | None = None
    try:
        for each in rows:
            sink.process(each)
        sink.drain()
    except BaseException as failure:
        error = failure
        raise
    finally:
        sink.close(error)


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


def test_keys_with_the_same_beginning_are_not_merged(table: Table) -> None:
    """Two keys that are equal only after truncation are refused, so no row replaces another one."""
    do(table.dsn, f"alter table {table.name} alter key type varchar(4)")
    columns = COLUMNS | {"key": "varchar(4)"}

    with pytest.raises(RuntimeError) as failure:
        write(sink_of(table, columns=columns), row("user1", 1), row("user2", 2))

    assert isinstance(failure.value.__cause__, psycopg.errors.StringDataRightTruncation)
    assert {} == table.rows()


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
    """If the columns name the base type of a domain, the server checks the length of the domain."""
    do(table.dsn, f"create domain {table.name}_code as varchar(4)")
    do(table.dsn, f"alter table {table.name} alter value type {table.name}_code")
    write(sink_of(table), row("a", 1, "user"))

    with pytest.raises(RuntimeError):
        write(sink_of(table), row("b", 1, "user1"))

    assert {"a": (1, "user")} == table.rows()
    do(table.dsn, f"drop domain {table.name}_code cascade")


def test_enum_column_accepts_its_own_labels(table: Table) -> None:
    """A type of the user that does not truncate can be used, with quotes and a schema."""
    do(table.dsn, f"create type \"{table.name}_Color\" as enum ('red'); alter table {table.name} drop value")
    do(table.dsn, f'alter table {table.name} add value "{table.name}_Color"')

    write(sink_of(table, columns=COLUMNS | {"value": f'public."{table.name}_Color"'}), row("a", 1, "red"))

    assert {"a": (1, "red")} == table.rows()
    do(table.dsn, f'drop type "{table.name}_Color" cascade')


def test_keys_that_only_postgresql_finds_equal_keep_the_newest_version(table: Table) -> None:
    """Keys that are equal only in PostgreSQL do not fail the task for ever, and the newest version wins."""
    do(table.dsn, f"alter table {table.name} alter key type char(4)")  # ignores spaces at the end of a value
    sink = sink_of(table, columns=COLUMNS | {"key": "char(4)"}, linger_ms=60_000)

    write(sink, row("a", 1), row("b ", 5), row("a ", 3), row("b", 4), row("c", 1))

    assert {"a   ": (3, ""), "b   ": (5, ""), "c   ": (1, "")} == table.rows()
    assert 5 == sink.metrics.flushed


UNUSABLE_VERSIONS = {
    "NaN": ("double precision", math.nan),
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

    with pytest.raises(ValueError, match=r"unusable version: column \('version',\)"):
        write(sink, {"key": "k", "version": version, "value": ""})


PERSON = "alice@example.org"
STATEMENTS_WITH_VALUES = {
    "check": "alter table {0} add constraint adult check (version > 17)",
    "not-null": "alter table {0} add other text not null",
    "invalid-number": "",
    "trigger": "create function {0}_age() returns trigger language plpgsql as "
    "$$ begin raise exception '% is too young', new.key; end $$; "
    "create trigger age before insert on {0} for each row execute function {0}_age()",
}


@pytest.mark.parametrize("refusal", STATEMENTS_WITH_VALUES)
def test_errors_show_no_value_of_a_row(table: Table, refusal: str) -> None:
    """The traceback that reaches the logs names error, table and constraint, and contains no personal data."""
    do(table.dsn, STATEMENTS_WITH_VALUES[refusal].format(table.name))
    columns = COLUMNS | ({"value": "int"} if refusal == "invalid-number" else {})

    with pytest.raises(RuntimeError) as failure:
        write(sink_of(table, columns=columns), row(PERSON, 11, PERSON))

    text = "".join(traceback.format_exception(failure.value))
    assert PERSON not in text
    assert "SQLSTATE" in text
    assert refusal != "check" or f"table '{table.name}', constraint 'adult'" in text
    do(table.dsn, f"drop function if exists {table.name}_age cascade")


@pytest.mark.parametrize("missing", ["key", "version"])
def test_error_of_an_incomplete_row_shows_no_value(missing: str) -> None:
    """The error names the column and not the key of the row."""
    sink = sink_of(Table("host=127.0.0.1 port=1", "nowhere"))

    with pytest.raises(ValueError, match=missing) as failure:
        write(sink, row(PERSON, 1, PERSON) | {missing: None})

    assert PERSON not in str(failure.value)


def test_error_names_a_table_that_does_not_exist(table: Table) -> None:
    """Messages about tables contain no values, so they stay in the error."""
    with pytest.raises(RuntimeError) as failure:
        write(sink_of(Table(table.dsn, "nowhere")), row("k", 1))

    assert 'UndefinedTable, SQLSTATE 42P01, relation "public.nowhere" does not exist' == str(failure.value.__cause__)
    assert "42P01" == getattr(failure.value.__cause__, "sqlstate", None)


def test_rejected_rows_go_to_the_function_and_others_are_stored(table: Table) -> None:
    """With `on_rejected`, rows that can never be stored do not stop the query, and no other row is lost."""
    rejected: dict[str, str] = {}
    sink = sink_of(
        table, linger_ms=60_000, on_rejected=lambda values, reason: rejected.update({values["value"]: reason})
    )
    do(table.dsn, f"alter table {table.name} add check (version < 1000)")
    bad_rows = [row("a", 1, "nul \0"), row("b", 1000, "check"), {"key": None, "version": 1, "value": "null"}]
    bad_rows += [row("c", 1, "\ud800"), {"key": "d", "version": math.nan, "value": "nan"}]

    write(sink, *(row(str(n), 1) for n in range(20)), *bad_rows, *(row(str(n), 1) for n in range(20, 40)))

    assert {str(n): (1, "") for n in range(40)} == table.rows()
    assert {bad_row["value"] for bad_row in bad_rows} == set(rejected)
    assert "CharacterNotInRepertoire, SQLSTATE 22021" == rejected["nul \0"]
    assert (5, 40) == (sink.metrics.rejected_rows, sink.metrics.flushed)


def test_error_of_the_reject_function_fails_the_task(table: Table) -> None:
    """A row that is neither stored nor rejected fails the task, without a value in the traceback."""

    def fail(_values: Mapping[str, Any], _reason: str) -> None:
        raise OSError("reject topic is unavailable")

    do(table.dsn, f"alter table {table.name} add check (version < 1000)")

    with pytest.raises(RuntimeError, match="could not write 1 rows") as failure:
        write(sink_of(table, on_rejected=fail), row(PERSON, 1000))

    text = "".join(traceback.format_exception(failure.value))
    assert "reject topic is unavailable" in text
    assert PERSON not in text


def test_one_attack_row_costs_few_statements(table: Table) -> None:
    """Among 500 rows, one row that cannot be stored is found by halving the batch."""
    do(table.dsn, f"create sequence {table.name}_calls")
    do(
        table.dsn,
        f"create function {table.name}_count() returns trigger language plpgsql as "
        f"$$ begin perform nextval('{table.name}_calls'); return null; end $$;"
        f"create trigger calls before insert on {table.name} for each statement execute function {table.name}_count()",
    )
    sink = sink_of(table, linger_ms=60_000, on_rejected=lambda _values, _reason: None)

    write(sink, *(row(str(n), 1, "\0" if n == 250 else "") for n in range(500)))

    assert 499 == len(table.rows())
    assert [(True,)] == ask(table.dsn, f"select last_value <= 20 from {table.name}_calls")
    do(table.dsn, f"drop function {table.name}_count cascade; drop sequence {table.name}_calls")
