"""Make hostile records from a good one."""

import json
from collections.abc import Iterator
from typing import Any

from spark_rtm.prove.subjects.samples import fields_of
from spark_rtm.testing.records import Sent

NESTING = 20_000
MEGABYTE = 1_000_000
HUGE = 10**30
FIELD_CHANGES: dict[str, Any] = {
    "null": None,
    "an object": {"a": 1},
    "a list": [1, 2],
    "text": "not a number",
    "empty text": "",
    "a huge number": HUGE,
    "a negative number": -(2**63),
    "a fraction": 0.5,
    "true": True,
}


def hostile_records(sample: Sent) -> dict[str, Sent]:
    """Return hostile records by the name of their kind."""
    value = sample.value or b"{}"
    texts: dict[str, bytes | None] = {
        "a null value": None,
        "an empty value": b"",
        "text that is not JSON": b"hello",
        "broken JSON": value[: max(1, len(value) // 2)],
        "a JSON list": b"[1,2]",
        "a JSON number": b"7",
        "a JSON null": b"null",
        "an empty object": b"{}",
        "trailing text": value + b"}{",
        "deep nesting": b'{"a":' * NESTING + b"1" + b"}" * NESTING,
        "a value of 1 MB": b'{"a":"' + b"x" * MEGABYTE + b'"}',
        "bad UTF-8": b'{"a":"\xff\xfe"}',
        "a byte order mark": b"\xef\xbb\xbf" + value,
        "null bytes": b"\x00" * 16,
    }
    records = {name: Sent(text, sample.key) for name, text in texts.items()}
    records |= {name: Sent(text.encode(), sample.key) for name, text in _of_fields(sample)}
    return records | {
        "a null key": Sent(sample.value, None),
        "an empty key": Sent(sample.value, b""),
        "a key of bad UTF-8": Sent(sample.value, b"\xff"),
    }


def _of_fields(sample: Sent) -> Iterator[tuple[str, str]]:
    fields = fields_of(sample)
    if not fields:
        return
    name = next(iter(fields))
    text = json.dumps(fields)
    yield "an unknown field", json.dumps({**fields, "unknown": {"deep": [1]}})
    yield "a repeated field", f"{text[:-1]},{json.dumps({name: 'again'})[1:]}"
    for field in fields:
        yield f"no {field}", json.dumps({k: v for k, v in fields.items() if k != field})
        yield f"{field}: NaN", json.dumps({**fields, field: float("nan")})
        for change, value in FIELD_CHANGES.items():
            if value != fields[field]:
                yield f"{field}: {change}", json.dumps({**fields, field: value})
