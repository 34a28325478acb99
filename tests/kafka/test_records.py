import json
from typing import Any

import pytest

from spark_rtm.kafka.consumer import json_object

FIELDS = {"id": str, "version": int, "flag": bool | None, "note": str | None}
GOOD = {"id": "a", "version": 1}


def encoded(**changes: Any) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="tombstone"),
        pytest.param(b"", id="empty"),
        pytest.param(b"{bad", id="not-json"),
        pytest.param(encoded() + b"tail", id="tail"),
        pytest.param(b"[" * 100_000, id="nested-deeply"),
        pytest.param(b"9" * 5_000, id="long-number"),
        pytest.param(b"null", id="null"),
        pytest.param(b"{}", id="no-field"),
        pytest.param(encoded(version="1"), id="text-as-number"),
        pytest.param(encoded(version=1.0), id="fraction"),
        pytest.param(encoded(version=True), id="boolean-as-number"),
        pytest.param(encoded(version=2**63), id="larger-than-bigint"),
        pytest.param(encoded(id=["a"]), id="list-as-text"),
        pytest.param(encoded(note="\0"), id="nul"),
        pytest.param(encoded(note="\ud800"), id="half-of-a-pair"),
    ],
)
def test_record_that_a_reader_cannot_use_is_none(value: bytes | None) -> None:
    assert json_object(value, FIELDS) is None


@pytest.mark.parametrize(
    "changes",
    [{}, {"flag": True, "note": None}, {"version": 2**63 - 1}, {"note": "\u00e9\U0001f600"}, {"further": {"a": []}}],
)
def test_valid_record_is_returned_with_all_fields(changes: dict[str, Any]) -> None:
    assert {**GOOD, **changes} == json_object(encoded(**changes), FIELDS)
