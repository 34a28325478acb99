"""The upsert statement: its text, and the targets that it rejects."""

from typing import Any

import pytest

from examples.sinks.statement import check_target, upsert_statement


def test_statement_has_an_array_per_column_and_a_version_guard() -> None:
    """The text does not depend on the number of rows, and only a newer version replaces a row."""
    statement = upsert_statement(("ads", "won"), ("id",), {"id": "text", "version": "bigint"}, "version")

    assert (
        'insert into "ads"."won" as target ("id", "version") select * from unnest(%b::text[], %b::bigint[]) '
        'on conflict ("id") do update set "version" = excluded."version" '
        'where target."version" is null or excluded."version" > target."version"'
    ) == statement.decode()


def test_statement_without_version_has_no_guard() -> None:
    """Without a version, the last row to arrive replaces any earlier one."""
    statement = upsert_statement(("ads", "won"), ("id",), {"id": "text", "n": "int"}, None)

    assert statement.decode().endswith('on conflict ("id") do update set "n" = excluded."n" ')


REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    "dotted-table": ({"table": "ads.won"}, r"expected \(schema, table\)"),
    "key-as-text": ({"key": "id"}, "expected a tuple of at least one column"),
    "no-key": ({"key": ()}, "expected a tuple of at least one column"),
    "unknown-key": ({"key": ("idd",)}, r"key columns 'idd' are not in `columns`"),
    "unknown-version": ({"version": "v"}, "version 'v' is not in `columns`"),
    "version-in-key": ({"version": "id"}, "version 'id' is part of the key"),
    "empty-name": ({"table": ("", "won")}, "a table or column name is empty"),
    "array-type": ({"columns": {"id": "text", "n": "int[]"}}, "store arrays as jsonb"),
    "injected-type": ({"columns": {"id": "text); drop table won; --"}}, r"unsupported types for columns \['id'\]"),
}


@pytest.mark.parametrize(("change", "message"), REJECTED.values(), ids=REJECTED)
def test_invalid_target_is_rejected_on_the_driver(change: dict[str, Any], message: str) -> None:
    """An invalid target raises ValueError before any task starts."""
    target = {"table": ("ads", "won"), "key": ("id",), "columns": {"id": "text", "n": "int"}, "version": None}

    with pytest.raises(ValueError, match=message):
        check_target(**(target | change))
