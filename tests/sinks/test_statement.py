"""The statement: its text for the usual table, and what it refuses to be written for."""

from typing import Any

import pytest

from examples.sinks.statement import check_target, upsert_statement


def test_the_statement_has_one_array_per_column_and_lets_newer_versions_pass() -> None:
    """However many rows there are, the text stays the same and stays prepared."""
    statement = upsert_statement(("ads", "won"), ("id",), {"id": "text", "version": "bigint"}, "version")

    assert (
        'insert into "ads"."won" as target ("id", "version") select * from unnest(%b::text[], %b::bigint[]) '
        'on conflict ("id") do update set "version" = excluded."version" '
        'where target."version" is null or excluded."version" > target."version"'
    ) == statement.decode()


def test_without_a_version_the_last_arrival_stays() -> None:
    """There is no guard, so one key must come from one task."""
    statement = upsert_statement(("ads", "won"), ("id",), {"id": "text", "n": "int"}, None)

    assert statement.decode().endswith('on conflict ("id") do update set "n" = excluded."n" ')


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "dotted-table": ({"table": "ads.won"}, r"give \(schema, table\)"),
    "key-as-text": ({"key": "id"}, "give a tuple of one column or more"),
    "no-key": ({"key": ()}, "give a tuple of one column or more"),
    "unknown-key": ({"key": ("idd",)}, r"key columns \['idd'\] are not among the columns"),
    "unknown-version": ({"version": "v"}, "version 'v' is not among the columns"),
    "version-in-key": ({"version": "id"}, "version 'id' is part of the key"),
    "empty-name": ({"table": ("", "won")}, "a name is empty"),
    "array-type": ({"columns": {"id": "text", "n": "int[]"}}, "an array belongs into a jsonb column"),
    "injected-type": ({"columns": {"id": "text); drop table won; --"}}, r"columns \['id'\] have no plain type name"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED)
def test_a_target_that_cannot_work_is_refused_on_the_driver(change: dict[str, Any], message: str) -> None:
    """Nobody waits for a task to fail."""
    target = {"table": ("ads", "won"), "key": ("id",), "columns": {"id": "text", "n": "int"}, "version": None}

    with pytest.raises(ValueError, match=message):
        check_target(**(target | change))
