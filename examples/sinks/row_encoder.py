"""
Turn a row of Spark into what the database is sent: key, version, and one value per column.

What arrives are rows by column name; what leaves are values of the columns' types, or an error that names the row.
Real-time mode calls this for every single row, so all that depends on the columns only is decided before.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from examples.sinks.buffer import Key

if TYPE_CHECKING:
    from pyspark.sql import Row

PRECISION = re.compile(r" ?\(.*\)")


class RowShape:
    """The columns of a sink, and which of them are key and version."""

    def __init__(self, key: Sequence[str], columns: Mapping[str, str], version: str | None) -> None:
        """Look every name up once."""
        names = list(columns)
        self._values, self._key_of = _getter(names), _getter([names.index(name) for name in key])
        self._key, self._version = key, version
        self._conversions = [
            (place, CONVERSIONS[name])
            for place, name in enumerate(PRECISION.sub("", type_name.lower()) for type_name in columns.values())
            if name in CONVERSIONS
        ]
        self._version_place = None if version is None else names.index(version)

    def read(self, row: "Row | Mapping[str, Any]") -> tuple[Key, Any, Sequence[Any]]:
        """Return key, version and values of `row`; raise ValueError for a row without key or version."""
        values = self._values(row)
        if self._conversions:
            values = list(values)
            for place, convert in self._conversions:
                values[place] = convert(values[place])
        key = self._key_of(values)
        version = None if self._version_place is None else values[self._version_place]
        if None in key or (version is None and self._version):
            missing = self._key if None in key else (self._version,)
            raise ValueError(
                f"row {key!r} has no value in {missing!r}, so the table would refuse or ignore it; filter such rows "
                "before the sink"
            )
        return key, version, values


def _getter(places: Sequence[Any]) -> Callable[[Any], Any]:
    # Of one place an itemgetter would return the value instead of a tuple.
    return itemgetter(*places) if len(places) > 1 else lambda row: (row[places[0]],)


def _utc(value: datetime | None) -> datetime | None:
    # Spark hands over timestamps without a zone, in the worker's local time.
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _jsonb(value: Any) -> Jsonb | None:
    return None if value is None else Jsonb(_plain(value))


def _plain(value: Any) -> Any:
    if hasattr(value, "asDict"):
        return _plain(value.asDict())
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _bytes(value: bytearray | bytes | None) -> bytes | None:
    return None if value is None else bytes(value)


def _decimal(value: Any) -> Any:
    # Integers are sent as bigint, and a numeric column may hold larger ones.
    return Decimal(value) if isinstance(value, int) else value


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "timestamptz": _utc,
    "timestamp with time zone": _utc,
    "jsonb": _jsonb,
    "numeric": _decimal,
    "decimal": _decimal,
    "bytea": _bytes,
}
