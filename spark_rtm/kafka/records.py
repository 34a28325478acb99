"""
Check JSON records that a Kafka client reads without Spark.

Anyone who may write to a topic can append a tombstone or a value that is not JSON. A consumer that raised an error
would fail again after each restart, so these functions return None instead.
"""

import json
import re
from collections.abc import Mapping
from types import UnionType
from typing import Any

MAX_LONG = 2**63 - 1
"""Maximum number in a column of type `bigint`."""

# PostgreSQL can store neither the NUL character nor lone surrogates.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def json_object(value: bytes | None, fields: Mapping[str, type | UnionType]) -> dict[str, Any] | None:
    """
    Return the JSON object in `value`, or None for a tombstone, other JSON or a field of the wrong type.

    `fields` maps names to types. A missing field is treated as null. Other fields are allowed and not checked.
    """
    try:
        row = json.loads(value or b"")
    # Deeply nested arrays raise RecursionError. All other invalid JSON raises ValueError.
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not all(_is_valid(row.get(name), kind) for name, kind in fields.items()):
        return None
    return row


def _is_valid(value: Any, field_type: type | UnionType) -> bool:
    if isinstance(value, bool):
        return isinstance(True, field_type) and field_type is not int
    if isinstance(value, int):
        return isinstance(value, field_type) and abs(value) <= MAX_LONG
    if isinstance(value, str):
        return isinstance(value, field_type) and not UNSTORABLE.search(value)
    return isinstance(value, field_type)
