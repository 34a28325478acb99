"""Read the user's sample records, or make some from the JSON schema in the plan of the query."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampType,
)

from spark_rtm.testing.records import Sent, as_sent

ENVELOPE = {"key", "value"}
TIME_NAMES = ("ts", "time", "timestamp", "at", "date")
UNITS = ("ms", "millis", "seconds", "us", "micros")
# `topic#3 = clicks`, `level#12 IN (INFO,WARN)`, and `record#12.level IN (INFO,WARN)` for a field of a struct.
COMPARISON = re.compile(r"(?P<column>\w+)#\d+L?(?:\.(?P<field>\w+))? (?:IN \(|= )(?P<text>[\w.-]+)(?=[,)])")
DEFAULT = (Sent(b'{"id":"a1","value":1}', b"a1"), Sent(b"1", b"a1"))
"""Records for a query without a JSON schema in its plan."""


def read_samples(path: Path) -> list[Sent]:
    """
    Return the records of a file with one JSON text per line.

    A line is the value of a record. An object with exactly the fields `key` and `value` is a record with this key.
    """
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"{str(path)!r} has no records; write one JSON text per line")
    try:
        return [_record(line) for line in lines]
    except RecursionError:
        raise ValueError(f"{str(path)!r} has a record that is nested too deep; use at most 500 levels") from None


def made_samples(rows: DataFrame) -> list[Sent]:
    """Return two records for each JSON schema that `rows` applies to its stream, or `DEFAULT` if there is none."""
    plan = json.loads(rows._jdf.queryExecution().analyzed().toJSON())  # noqa: SLF001 - PySpark has no plan as JSON
    schemas = {json.dumps(schema): schema for schema in _schemas(above_stream(plan))}
    made = [_of(StructType.fromJson(schema), number) for schema in schemas.values() for number in (1, 2)]
    compared = compared_texts(rows)
    for fields in made:
        fields.update({name: text for name, text in compared.items() if isinstance(fields.get(name), str)})
    return [as_sent((f"a{n % 2 + 1}", value)) for n, value in enumerate(made)] or list(DEFAULT)


def compared_texts(rows: DataFrame) -> dict[str, str]:
    """Return the first text with which the query compares each column, so the records made pass a filter."""
    found = dict[str, str]()
    plan = str(rows._jdf.queryExecution().analyzed())  # noqa: SLF001 - PySpark has no plan as text
    for match in COMPARISON.finditer(plan):
        found.setdefault(match["field"] or match["column"], match["text"])
    return found


def fields_of(sample: Sent) -> dict[str, Any] | None:
    """Return the fields of a record whose value is a JSON object, else None."""
    try:
        value = json.loads(sample.value or b"")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def is_time(name: str) -> bool:
    """Return whether a field's name suggests a time, such as `event_ts` or `sent_at_ms`; `length_ms` is a duration."""
    words = name.lower().replace("-", "_").split("_")
    return words[-2 if words[-1] in UNITS and len(words) > 1 else -1] in TIME_NAMES


def _record(line: str) -> Sent:
    try:
        value = json.loads(line)
    except ValueError:
        return Sent(line.encode())
    if isinstance(value, dict) and value.keys() == ENVELOPE:
        key, inner = value["key"], value["value"]
        text = inner if inner is None or isinstance(inner, str) else json.dumps(inner)
        return as_sent((key if key is None else str(key), text))
    return Sent(line.encode())


def above_stream(plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    Return the operators that process the stream: those that have a streaming source below them.

    `plan` lists the operators from the root, each followed by its children. Without a stream, all operators are kept.
    """
    kept = list[dict[str, Any]]()

    def visit(position: int) -> tuple[int, bool]:
        node = plan[position]
        following, has_stream = position + 1, "StreamingRelation" in node["class"]
        for _ in range(node["num-children"]):
            following, found = visit(following)
            has_stream |= found
        if has_stream:
            kept.append(node)
        return following, has_stream

    visit(0)
    return kept or plan


def _schemas(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for part in node:
            yield from _schemas(part)
    elif isinstance(node, dict):
        schema = node.get("schema")
        if str(node.get("class", "")).endswith("JsonToStructs") and isinstance(schema, dict) and "fields" in schema:
            yield schema
        for part in node.values():
            yield from _schemas(part)


def _of(kind: DataType, number: int, name: str = "") -> Any:
    match kind:
        case StructType():
            # The field that holds malformed text is never sent.
            return {f.name: _of(f.dataType, number, f.name) for f in kind if "corrupt" not in f.name}
        case ArrayType():
            return [_of(kind.elementType, number)]
        case MapType():
            return {"a": _of(kind.valueType, number)}
        case StringType() | BinaryType() | TimestampType() | DateType():
            return _text(kind, number, name)
        case NumericType():
            return int(time.time() * 1000) if is_time(name) else number
    return number == 1 if isinstance(kind, BooleanType) else None


def _text(kind: DataType, number: int, name: str) -> str:
    now = datetime.now(UTC)
    if isinstance(kind, DateType):
        return now.date().isoformat()
    return now.isoformat() if isinstance(kind, TimestampType) or is_time(name) else f"a{number}"
