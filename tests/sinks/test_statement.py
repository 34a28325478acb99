"""The upsert statement: its text, and the targets that it rejects."""

from typing import Any

import pytest

from spark_rtm.sinks.statement import check_target, upsert_statement


def test_statement_has_an_array_per_column_and_a_version_guard() -> None:
    statement = upsert_statement(("ads", "won"), ("id",), {"id": "text", "version": "bigint"}, "version")

    assert (
        'insert into "ads"."won" as target ("id", "version") select * from unnest(%b::text[], %b::bigint[]) '
        'on conflict ("id") do update set "version" = excluded."version" '
        'where target."version" is null or excluded."version" > target."version"'
    ) == statement.decode()


def test_statement_without_version_has_no_guard() -> None:
    statement = upsert_statement(("ads", "won"), ("id",), {"id": "text", "n": "int"}, None)

    assert statement.decode().endswith('on conflict ("id") do update set "n" = excluded."n" ')


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
    """An invalid target raises ValueError before any task starts."""
    target = {"table": ("ads", "won"), "key": ("id",), "columns": {"id": "text", "n": "int"}, "version": None}

    with pytest.raises(ValueError, match=message):
        check_target(**(target | change), allow_reverts=False)


@pytest.mark.parametrize("type_name", ["bigint", "numeric(20, 0)", "double precision", "timestamp(3) with time zone"])
def test_version_of_an_ordered_type_is_accepted(type_name: str) -> None:
    """Numbers and times have the same order in Python and in PostgreSQL."""
    check_target(("ads", "won"), ("id",), {"id": "text", "v": type_name}, "v", allow_reverts=False)


def test_table_of_keys_only_needs_no_version() -> None:
    """A row without other columns never changes, so it cannot be reverted."""
    check_target(("ads", "won"), ("id",), {"id": "text"}, None, allow_reverts=False)


CAST_TYPES = {
    "varchar(4)": "varchar",
    "character varying (4)": "character varying",
    "char(4)": "bpchar",
    "CHARACTER": "bpchar",
    "bit(4)": "bit varying",
    "numeric(6, 2)": "numeric",
    "timestamp(3) with time zone": "timestamp with time zone",
    'ads."Color"': 'ads."Color"',
}


@pytest.mark.parametrize(("type_name", "expected"), CAST_TYPES.items(), ids=CAST_TYPES)
def test_statement_casts_to_types_without_length(type_name: str, expected: str) -> None:
    """A cast to a type with a length would truncate values, and `char` and `bit` without a length have the length 1."""
    statement = upsert_statement(("ads", "won"), ("id",), {"id": type_name}, None)

    assert f"unnest(%b::{expected}[])" in statement.decode()
