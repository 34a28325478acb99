"""Read the user's sample records, or generate records from schemas and comparisons in the query's plan."""

import base64
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from spark_rtm.prove.records.decoding import CSV, Decoding, decoding
from spark_rtm.prove.records.plan import FRACTIONS, INTEGERS, NUMBERS, Node, Plan, path_of, plan_of
from spark_rtm.testing.records import Sent, as_sent

ENVELOPE = {"key", "value"}
TIME_NAMES = ("ts", "time", "timestamp", "at", "date")
UNITS = ("ms", "millis", "seconds", "us", "micros")
MAX_FIELDS, MAX_VALUES, MAX_RECORDS = 4, 8, 60
MAX_HEADER = 20
# Epoch times between 2001 and 2100, in seconds and in milliseconds.
EPOCH = (10**9, 4 * 10**9)
FRACTION = re.compile(r"\.\d+")
DEFAULT = (Sent(b'{"id":"a1","value":1}', b"a1"), Sent(b"1", b"a1"))
"""Records for a query without a schema."""


def read_samples(path: Path) -> list[Sent]:
    """
    Read records from a file with one JSON text per line.

    Each line is a record value. An object with exactly the fields `key`, `value` and optionally `headers` is a whole
    record.
    """
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"{str(path)!r} has no records; write one JSON text per line")
    try:
        return [_record(line) for line in lines]
    except RecursionError:
        raise ValueError(f"{str(path)!r} has a record that is nested too deeply; use at most 500 levels") from None


def made_samples(rows: DataFrame) -> list[Sent]:
    """Return two records for each schema that `rows` applies to its stream. Without a schema, return `DEFAULT`."""
    plan = plan_of(rows)
    return [_sent(make, _Choice(plan, number)) for make in _makers(rows) for number in (1, 2)]


def other_samples(rows: DataFrame) -> list[Sent]:
    """Return records on the opposite side of the query's literals, for use if `made_samples` produces no results."""
    plan, found = plan_of(rows), list[Sent]()
    for make in _makers(rows):
        _sent(make, first := _Choice(plan, 1))
        fields = sorted(name for name, count in first.counts.items() if count > 1)[:MAX_FIELDS]
        picks = product(*(range(min(first.counts[name], MAX_VALUES)) for name in fields))
        for chosen in islice(sorted(picks, key=sum), 1, MAX_RECORDS):
            found.append(_sent(make, _Choice(plan, 1, dict(zip(fields, chosen, strict=True)))))
    return found


def compared_texts(rows: DataFrame) -> dict[str, str]:
    """Return, by column name, the first text that the query compares with the column."""
    found = dict[str, str]()
    for comparison in plan_of(rows, of_stream=False).comparisons:
        text = comparison.value[0] if comparison.operator == "In" else comparison.value
        if comparison.operator in {"EqualTo", "EqualNullSafe", "In"} and isinstance(text, str):
            found = dict.fromkeys(comparison.names, text) | found
    return found


@dataclass
class _Choice:
    plan: Plan
    number: int
    picks: Mapping[str, int] = field(default_factory=dict)
    """Index of each field's value among the candidates (default: the first)."""
    counts: dict[str, int] = field(default_factory=dict)

    def __call__(self, name: str, default: Any, allowed: Sequence[Any] = ()) -> Any:
        """Return a field's value, which is one of `allowed` unless `allowed` is empty."""
        found = [value for value in self.plan.candidates(name, default) if not allowed or value in allowed]
        self.counts[name] = len(found)
        return found[self.picks.get(name, 0)]


def fields_of(sample: Sent) -> dict[str, Any] | None:
    """Return a record's fields if its value is a JSON object, else None."""
    try:
        value = json.loads(sample.value or b"")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def is_time(name: str) -> bool:
    """Return whether a field name suggests a time, such as `event_ts` and `sent_at_ms`, but not `length_ms`."""
    words = name.lower().replace("-", "_").split("_")
    return words[-2 if words[-1] in UNITS and len(words) > 1 else -1] in TIME_NAMES


def moved(sample: Sent, seconds: float) -> Sent:
    """Return a record whose times are later by some seconds."""
    fields = fields_of(sample)
    if not fields:
        return sample
    changed = {name: _later(name, value, seconds) for name, value in fields.items()}
    return sample if changed == fields else replace(sample, value=json.dumps(changed).encode())


def varied(sample: Sent) -> Sent:
    """Return a record with other numbers, which a shorter type cannot hold, but the same texts and times."""
    fields, more = fields_of(sample) or {}, {int: 100_003, float: 0.123456789}
    changed = {name: value + more.get(type(value), 0) for name, value in fields.items() if _is_amount(name, value)}
    return replace(sample, value=json.dumps(fields | changed).encode()) if changed else sample


def _is_amount(name: str, value: Any) -> bool:
    return type(value) in {int, float} and not is_time(name) and abs(value) < EPOCH[0]


def _later(name: str, value: Any, seconds: float) -> Any:
    if isinstance(value, dict):
        return {part: _later(part, inner, seconds) for part, inner in value.items()}
    if isinstance(value, str):
        return _later_text(value, seconds)
    low, high = EPOCH
    if type(value) is not int or value < low:
        return value
    in_ms = value + round(seconds * 1000) if low * 1000 <= value <= high * 1000 else value
    return value + round(seconds) if value <= high and is_time(name) else in_ms


def _later_text(value: str, seconds: float) -> str:
    """Return a time in the same format as `value`, or `value` if it is not a time."""
    try:
        later = datetime.fromisoformat(value) + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return value
    if len(value) <= len("2026-11-28"):
        return later.date().isoformat()
    text, digits = later.isoformat(value[10], "microseconds"), FRACTION.search(value)
    text = FRACTION.sub(lambda found: found[0][: len(digits[0]) if digits else 0], text)
    return text.replace("+00:00", "Z") if value.endswith("Z") else text


def _record(line: str) -> Sent:
    try:
        value = json.loads(line)
    except ValueError:
        return Sent(line.encode())
    if isinstance(value, dict) and value.keys() - {"headers"} == ENVELOPE:
        key, inner = value["key"], value["value"]
        text = inner if inner is None or isinstance(inner, str) else json.dumps(inner)
        headers = tuple((name, str(header).encode()) for name, header in value.get("headers", {}).items())
        return replace(as_sent((key if key is None else str(key), text)), headers=headers)
    return Sent(line.encode())


def _makers(rows: DataFrame) -> list[Callable[[_Choice], Any]]:
    """Return a factory for each JSON, CSV or Avro schema in the query, or one for its JSON paths or split columns."""
    plan, makers, decoded = plan_of(rows), dict[str, Callable[[_Choice], Any]](), decoding(rows)
    for node in (node for _, tree in plan.expressions for node in tree.all()):
        schema = node.content.get("schema")
        if node.kind in {"JsonToStructs", "CsvToStructs"} and isinstance(schema, dict) and "fields" in schema:
            make = _of if node.kind == "JsonToStructs" else partial(_line, decoded)
            makers.setdefault(json.dumps([node.kind, schema]), partial(make, StructType.fromJson(schema)))
        elif node.kind in {"FromAvro", "AvroDataToCatalyst"}:
            text = node.content["jsonFormatSchema"] if node.kind == "AvroDataToCatalyst" else path_of(node)[0]
            makers.setdefault(text, partial(_framed, rows.sparkSession, _header(plan, node), text))
    # A query that reads both paths and a schema rejects records that contain only the paths.
    if not makers and decoded.schema.fields:
        makers[""] = partial(partial(_line, decoded) if decoded.format == CSV else _of, decoded.schema)
    return list(makers.values()) or [_plain]


def _line(decoded: Decoding, kind: StructType, choice: _Choice) -> bytes:
    return decoded.line(_of(kind, choice)).encode()


def _framed(spark: SparkSession, header: bytes, schema: str, choice: _Choice) -> bytes:
    """Return an Avro record, encoded by the session, after its header."""
    value = json.dumps({"value": _avro(json.loads(schema), choice, "", {})})
    kind = spark.createDataFrame([], "data binary").select(from_avro("data", schema).alias("value")).schema
    made = F.from_json(F.lit(value), kind, {"mode": "FAILFAST"}).getField("value")
    return header + bytes(spark.range(1).select(to_avro(made, schema)).collect()[0][0])


def _sent(make: Callable[[_Choice], Any], choice: _Choice) -> Sent:
    key, value = "a1" if make is _plain else f"a{choice.number}", make(choice)
    headers = tuple((name, str(choice("value", key)).encode()) for name in choice.plan.headers)
    return replace(Sent(value) if isinstance(value, bytes) else as_sent(value), key=key.encode(), headers=headers)


def _plain(choice: _Choice) -> bytes:
    return str(choice("value", (DEFAULT[choice.number - 1].value or b"").decode())).encode()


def _header(plan: Plan, node: Node) -> bytes:
    """Return the bytes before the Avro data: the Confluent header if the query skips leading bytes."""
    skipped = [inner for child in node.children[:1] for inner in plan.behind(child) if inner.kind == "Substring"]
    starts = [int(text) for inner in skipped for text in path_of(inner)[:1] if text.isdigit()]
    return bytes(starts[0] - 2) + b"\1" if starts and 2 <= starts[0] <= MAX_HEADER else b""


def _avro(schema: Any, choice: _Choice, name: str, named: dict[str, Any]) -> Any:
    """Return a value for an Avro schema as JSON for its Spark type. `named` collects named schemas."""
    if isinstance(schema, list):
        kinds = [kind for kind in schema if kind != "null"]
        value = _avro(kinds[0], choice, name, named) if kinds else None
        # Spark merges unions of numbers, and reads any other union as a struct.
        is_merged = len(kinds) < 2 or sorted(map(str, kinds)) in (["int", "long"], ["double", "float"])
        return value if is_merged else {"member0": value}
    if isinstance(schema, str):
        return _avro(named.get(schema.rpartition(".")[2], {"type": schema}), choice, name, named)
    if "name" in schema:
        named[schema["name"].rpartition(".")[2]] = schema
    kind, logical, now = schema["type"], schema.get("logicalType", ""), datetime.now(UTC).replace(tzinfo=None)
    if not isinstance(kind, str):
        return _avro(kind, choice, name, named)
    number = float(choice.number) if kind in {"float", "double"} else choice.number
    made: dict[str, Callable[[], Any]] = {
        "record": lambda: {f["name"]: _avro(f["type"], choice, f["name"], named) for f in schema["fields"]},
        "array": lambda: [_avro(schema["items"], choice, name, named)],
        "map": lambda: {"a": _avro(schema["values"], choice, name, named)},
        "fixed": lambda: base64.b64encode(bytes(schema["size"])).decode(),
        "null": lambda: None,
        "enum": lambda: choice(name, schema["symbols"][0], schema["symbols"]),
        "boolean": lambda: bool(choice(name, choice.number == 1)),
        "bytes": lambda: base64.b64encode(str(choice(name, _text(choice.number, name))).encode()).decode(),
        "string": lambda: str(choice(name, _text(choice.number, name))),
    }
    times: dict[str, Any] = {"date": now.date().isoformat(), "decimal": choice.number}
    if "timestamp" in logical:
        times[logical] = now.isoformat()
    elif kind == "long" and is_time(name):
        times[logical] = int(time.time() * 1000)
    return times[logical] if logical in times else made.get(kind, lambda: choice(name, number))()


def _of(kind: DataType, choice: _Choice, name: str = "") -> Any:
    if isinstance(kind, StructType):
        # Records never contain the field for malformed text.
        return {f.name: _of(f.dataType, choice, f.name) for f in kind if "corrupt" not in f.name}
    if isinstance(kind, ArrayType | MapType):
        inner = _of(kind.elementType if isinstance(kind, ArrayType) else kind.valueType, choice, name)
        return [inner] if isinstance(kind, ArrayType) else {"a": inner}
    type_, number, now = kind.typeName(), choice.number, datetime.now(UTC)
    if type_ in {"date", "timestamp"}:
        return now.isoformat() if type_ == "timestamp" else now.date().isoformat()
    if type_ in NUMBERS and is_time(name):
        return int(time.time() * 1000)
    defaults = {"string": _text(number, name), "boolean": number == 1}
    defaults |= {**dict.fromkeys(INTEGERS, number), **dict.fromkeys(FRACTIONS, float(number))}
    return choice(name, defaults[type_]) if type_ in defaults else None


def _text(number: int, name: str) -> str:
    return datetime.now(UTC).isoformat() if is_time(name) else f"a{number}"
