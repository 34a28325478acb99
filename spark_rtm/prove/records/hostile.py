"""Generate hostile records from a good record, and describe what each kind breaks."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from spark_rtm.prove.records.decoding import CSV, Decoding
from spark_rtm.prove.records.plan import FRACTIONS, INTEGERS
from spark_rtm.prove.records.samples import fields_of, is_time
from spark_rtm.testing.records import Sent

NESTING = 20_000
MEGABYTE = 1_000_000
HUGE = 10**30
# A parser that expands this exponent needs a megabyte for the digits.
EXPONENT = "1e999999"
FIELD_CHANGES: dict[str, Any] = {
    "null": None,
    "an object": {"a": 1},
    "a list": [1, 2],
    # JSON parsers accept up to 1,000 levels.
    "nested lists": json.loads("[" * 500 + "]" * 500),
    "text": "not a number",
    "empty text": "",
    "a huge number": HUGE,
    "a negative number": -(2**63),
    "a fraction": 0.5,
    "true": True,
}
TIMES = {"the earliest time": "0001-01-01T00:00:00Z", "the latest time": "9999-12-31T23:59:59Z"}
FORM, TYPE, MISSING, NOTHING = "the form", "the type of a field", "a field", ""
TEXT, INTEGER, FRACTION, TIME, FLAG, NESTED = "text", "integer", "fraction", "time", "flag", "nested"
OBJECTS, TEXTS = {"an object", "a list", "nested lists"}, {"text", "empty text"}
HUGE_NUMBERS = {"a huge number", "a huge exponent"}
NUMBERS = HUGE_NUMBERS | {"a negative number", "a fraction", "NaN"}
NO_NUMBER = OBJECTS | TEXTS | {"true", "NaN"}
LOST: dict[str, set[str]] = {
    # A string field accepts values of other types as text.
    TEXT: set(),
    INTEGER: NO_NUMBER | HUGE_NUMBERS | {"a fraction"},
    FRACTION: NO_NUMBER,
    TIME: NO_NUMBER | HUGE_NUMBERS,
    FLAG: OBJECTS | TEXTS | NUMBERS,
    NESTED: TEXTS | NUMBERS | {"true"},
}
"""Changes that make a field's value unreadable, by field type."""
TYPES = {
    "boolean": FLAG,
    **dict.fromkeys(("timestamp", "date"), TIME),
    **dict.fromkeys(FRACTIONS, FRACTION),
    **dict.fromkeys(INTEGERS, INTEGER),
    **dict.fromkeys(("struct", "array", "map"), NESTED),
}


@dataclass(frozen=True)
class Hostile:
    """A hostile record, and the kind of damage."""

    record: Sent
    breaks: str = NOTHING
    """`FORM` (no readable field), `TYPE` (a lost value), `MISSING` (a missing field) or `NOTHING`."""


def hostile_records(sample: Sent, decoding: Decoding) -> dict[str, Hostile]:
    """Return hostile records, keyed by kind."""
    value = sample.value or b"{}"
    fields, columns = fields_of(sample), columns_of(sample, decoding)
    whole = value.decode(errors="replace").partition(decoding.separator)[0].encode() if columns else b""
    texts: dict[str, bytes | None] = {
        "a null value": None,
        "an empty value": b"",
        "text that is not JSON": b"hello",
        "broken JSON": value[: max(1, len(value) // 2)],
        "a JSON list": b"[1,2]",
        "a JSON number": b"7",
        "a JSON null": b"null",
        "an empty object": b"{}",
        "deep nesting": b'{"a":' * NESTING + b"1" + b"}" * NESTING,
        "a value of 1 MB": b'{"a":"' + b"x" * MEGABYTE + b'"}',
        "bad UTF-8": b'{"a":"\xff\xfe"}',
        "null bytes": b"\x00" * 16,
    }
    if len(columns) > 1:
        texts |= {"one column": whole}
    unusual = {"trailing text": value + b"}{", "a byte order mark": b"\xef\xbb\xbf" + value}
    records = {
        name: Hostile(replace(sample, value=text), NOTHING if columns and not _is_short(text, decoding) else FORM)
        for name, text in texts.items()
    }
    records |= {name: Hostile(replace(sample, value=text)) for name, text in unusual.items()}
    records |= dict(_of_columns(sample, columns, decoding) if columns else _of_fields(sample, fields, decoding))
    return records | {
        "a null key": Hostile(replace(sample, key=None)),
        "an empty key": Hostile(replace(sample, key=b"")),
        "a key of bad UTF-8": Hostile(replace(sample, key=b"\xff")),
        **(dict(_of_headers(sample)) if sample.headers else {}),
    }


def too_large(sample: Sent, limit: int) -> dict[str, Hostile]:
    """Return records above the sink's size limit. After compression, they are within a topic's default limits."""
    fields, long = fields_of(sample) or {}, "x" * limit
    records = {
        "a value": replace(sample, value=b'{"a":"%b"}' % long.encode()),
        "a key": replace(sample, key=long.encode()),
    }
    if name := next((name for name, value in fields.items() if isinstance(value, str) and not is_time(name)), ""):
        records[f"{name}: a text"] = replace(sample, value=json.dumps({**fields, name: long}).encode())
    return {f"{kind} of {limit:,} bytes": Hostile(record) for kind, record in records.items()}


def _of_headers(sample: Sent) -> Iterator[tuple[str, Hostile]]:
    names = [name for name, _ in sample.headers]
    yield "no headers", Hostile(replace(sample, headers=()))
    yield "an unknown header", Hostile(replace(sample, headers=(("unknown", b"a"),)))
    yield "repeated headers", Hostile(replace(sample, headers=sample.headers * 2))
    for kind, value in {"null": None, "empty": b"", "bad UTF-8": b"\xff\xfe"}.items():
        yield f"headers: {kind}", Hostile(replace(sample, headers=tuple((name, value) for name in names)))


def columns_of(sample: Sent, decoding: Decoding) -> dict[str, str]:
    """Return a CSV line's columns by name, or an empty dictionary if the query does not read CSV."""
    if decoding.format != CSV or not sample.value:
        return {}
    parts = sample.value.decode(errors="replace").split(decoding.separator)
    names = [*decoding.schema.names, *(f"column {n + 1}" for n in range(len(decoding.schema), len(parts)))]
    return dict(zip(names, parts, strict=False))


def _is_short(text: bytes | None, decoding: Decoding) -> bool:
    return len(decoding.schema) > 1 and decoding.separator.encode() not in (text or b"")


def _of_columns(sample: Sent, columns: dict[str, str], decoding: Decoding) -> Iterator[tuple[str, Hostile]]:
    def hostile(changed: Mapping[str, str], breaks: str) -> Hostile:
        return Hostile(replace(sample, value=decoding.line(changed).encode()), breaks)

    yield "a further column", hostile({**columns, "": "a"}, NOTHING)
    yield "an open quotation mark", Hostile(replace(sample, value=b'"' + (sample.value or b"")))
    for name, value in columns.items():
        kind = _kind_of(decoding, name, value)
        yield f"{name}: empty text", hostile({**columns, name: ""}, MISSING)
        yield f"{name}: text", hostile({**columns, name: "not a number"}, NOTHING if kind == TEXT else TYPE)
        for change, text in {"a huge number": str(HUGE), "a huge exponent": EXPONENT}.items():
            yield f"{name}: {change}", hostile({**columns, name: text}, TYPE if kind == INTEGER else NOTHING)


def _of_fields(sample: Sent, fields: dict[str, Any] | None, decoding: Decoding) -> Iterator[tuple[str, Hostile]]:
    if not fields:
        return

    def hostile(text: str, breaks: str = NOTHING) -> Hostile:
        return Hostile(replace(sample, value=text.encode()), breaks)

    first, text = next(iter(fields)), json.dumps(fields)
    yield "an unknown field", hostile(json.dumps({**fields, "unknown": {"deep": [1]}}))
    yield "a repeated field", hostile(f"{text[:-1]},{json.dumps({first: 'again'})[1:]}")
    for name, before in fields.items():
        # A record without an unused field is still good.
        missing = MISSING if name in decoding.schema.names or not decoding.schema.fields else NOTHING
        kind = _kind_of(decoding, name, before)
        lost, changes = LOST[kind], FIELD_CHANGES | (TIMES if kind == TIME else {})
        yield f"no {name}", hostile(json.dumps({k: v for k, v in fields.items() if k != name}), missing)
        for change, literal in {"NaN": "NaN", "a huge exponent": EXPONENT}.items():
            text = json.dumps({**fields, name: float("nan")}).replace(": NaN", f": {literal}")
            yield f"{name}: {change}", hostile(text, TYPE if change in lost else NOTHING)
        for change, value in changes.items():
            if value != before:
                breaks = missing if value is None else TYPE if change in lost else NOTHING
                yield f"{name}: {change}", hostile(json.dumps({**fields, name: value}), breaks)


def _kind_of(decoding: Decoding, name: str, value: Any) -> str:
    """Return a field's type according to the query's schema, or else a good value's type."""
    if decoding.schema.fields:
        kind = decoding.schema[name].dataType.typeName() if name in decoding.schema.names else ""
        return TYPES.get(kind, TEXT)
    if isinstance(value, bool) or not isinstance(value, int | float | dict | list):
        return FLAG if isinstance(value, bool) else TIME if _is_time(value) else TEXT
    return NESTED if isinstance(value, dict | list) else INTEGER if isinstance(value, int) else FRACTION


def _is_time(value: Any) -> bool:
    try:
        return bool(datetime.fromisoformat(value))
    except (TypeError, ValueError):
        return False
