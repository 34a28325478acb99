"""
Convert a Spark row to its key, its version and one database value per column.

The sink encodes every row, so values that depend only on the columns are computed once.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from spark_rtm.sinks.buffer import Key
from spark_rtm.sinks.statement import NUMBERS, cast_type

if TYPE_CHECKING:
    from pyspark.sql import Row

INFINITY = math.inf


class RowEncoder:
    """An encoder for rows with a fixed set of columns, which include the key and the version."""

    def __init__(self, key: Sequence[str], columns: Mapping[str, str], version: str | None) -> None:
        names = list(columns)
        self._names, self._values = names, _getter(names)
        self._key_of = _getter([names.index(name) for name in key])
        self._key = key
        self._version = version
        self._conversions = [
            (position, CONVERSIONS[base_type])
            for position, base_type in enumerate(cast_type(name).lower() for name in columns.values())
            if base_type in CONVERSIONS
        ]
        self._version_position = None if version is None else names.index(version)
        self._is_version_a_number = version is not None and cast_type(columns[version]).lower() in NUMBERS

    def encode(self, row: "Row | Mapping[str, Any]") -> tuple[Key, Any, Sequence[Any]]:
        """Return key, version and values of `row`. Raise ValueError if the table would reject or ignore the row."""
        values = self._values(row)
        if self._conversions:
            values = list(values)
            for position, convert in self._conversions:
                try:
                    values[position] = convert(values[position])
                except (ArithmeticError, RecursionError, TypeError) as error:
                    # The message contains only the error's type, because its text can quote the value.
                    problem = f"cannot be converted ({type(error).__name__}), so the table would reject the row"
                    raise _unusable("value", (self._names[position],), problem) from None
        key = self._key_of(values)
        if None in key:
            raise _unusable("key", self._key, "is null, so the table would reject the row")
        if self._version_position is None:
            return key, None, values
        version = values[self._version_position]
        try:
            # Infinity and NaN are higher than any later version, so they would block all updates of their key.
            is_usable = version < INFINITY if self._is_version_a_number else version is not None
        except (TypeError, InvalidOperation):
            is_usable = False
        if not is_usable:
            raise _unusable(
                "version", (self._version,), "is null, not a number or not finite, so it cannot be compared"
            )
        return key, version, values


def _unusable(role: str, names: Sequence[str | None], problem: str) -> ValueError:
    # The message omits row values, because Spark logs errors.
    return ValueError(f"a row has an unusable {role}: column {names!r} {problem}; filter out the row before the sink")


def _getter(positions: Sequence[Any]) -> Callable[[Any], Any]:
    # With a single position, `itemgetter` would return the bare value instead of a tuple.
    return itemgetter(*positions) if len(positions) > 1 else lambda row: (row[positions[0]],)


def _utc(value: datetime | None) -> datetime | None:
    # Spark passes timestamps without a time zone, in the worker's local time.
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _jsonb(value: Any) -> Jsonb | None:
    # Convert the value here, because an error from the client library would not identify the row.
    return None if value is None else Jsonb(json.dumps(_plain(value)), dumps=str)


def _plain(value: Any) -> Any:
    if hasattr(value, "asDict"):
        return _plain(value.asDict())
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _bytes(value: bytearray | bytes | None) -> bytes | None:
    return None if value is None else bytes(value)


def _decimal(value: Any) -> Any:
    # psycopg sends integers as bigint here, but a numeric column can hold larger integers.
    return Decimal(value) if isinstance(value, int) else value


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "timestamptz": _utc,
    "timestamp with time zone": _utc,
    "jsonb": _jsonb,
    "numeric": _decimal,
    "decimal": _decimal,
    "bytea": _bytes,
}
"""Conversion functions by PostgreSQL type without length. Values of other types are not converted."""
