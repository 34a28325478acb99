from typing import Any

import pytest

from spark_rtm.sinks.statement import check_target

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
