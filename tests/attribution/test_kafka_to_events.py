import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from examples.attribution.correlation.rule import STEPS
from examples.attribution.kafka_to_events import KINDS_REQUIRING, kafka_to_events
from examples.attribution.schemas import EVENTS
from examples.attribution.settings import DemoSettings
from spark_rtm.realtime.limits import MAX_HEADERS, MAX_RAW_BYTES, MAX_RECORD_BYTES

pytestmark = pytest.mark.spark

NOW = 1_700_000_000_000
HORIZON_MS = DemoSettings().windows.horizon_ms
SKEW_MS = DemoSettings().windows.clock_skew_limit_ms
SOURCE_ROW = """key binary, value binary, topic string, partition int, offset long,
    headers array<struct<key: string, value: binary>>"""
COMMON = {"event_id": "e1", "event_ts": NOW, "server_ts": NOW}
IN_TRANSACTION = {"transaction_id": "t1", "request_ts": NOW, "campaign_id": "c1"}
GOOD: dict[str, tuple[str, dict[str, Any]]] = {
    "request": ("ad-requests", {**COMMON, **IN_TRANSACTION, "slots": ["s1", "s2"]}),
    "impression": (
        "ad-impressions",
        {**COMMON, **IN_TRANSACTION, "slot_id": "s1", "impression_id": "i1", "creative_length_ms": 500},
    ),
    **{kind: ("ad-callbacks", {**COMMON, **IN_TRANSACTION, "impression_id": "i1"}) for kind in ("click", *STEPS)},
    "conversion": (
        "ad-callbacks",
        {**COMMON, "advertiser_id": "a1", "order_id": "o1", "value_micros": 5, "user_key": "u1"},
    ),
}


def encoded(kind: str = "request", /, **changes: Any) -> bytes:
    """Return a valid record of this kind with `changes`; a change to `...` removes the field."""
    fields = {"kind": kind, **GOOD[kind][1], **changes}
    return json.dumps({name: value for name, value in fields.items() if value is not ...}).encode()


Case = tuple[str, bytes | None, str]
Headers = list[tuple[str, bytes | None]]
Route = tuple[str, dict[str, bytes], Any]
"""Target topic, headers and value of a record."""

T0: Headers = [("t0", b"1")]
JUNK: Headers = [("junk", b"x")]
EMPTY: Headers = [("t0", b"")]


def bad_records() -> Iterator[Case]:
    """Yield topic, value and the expected reason."""
    yield from (
        ("ad-requests", None, "tombstone"),
        ("ad-requests", b"", "empty"),
        ("ad-requests", b"x" * (MAX_RECORD_BYTES + 1), "oversized"),
        ("ad-requests", b"y" * (MAX_RAW_BYTES + 1), "oversized"),
        ("ad-requests", b"\xff\xfe", "not_utf8"),
        ("ad-requests", encoded()[:-1] + b"\xff}", "not_utf8"),
        ("ad-requests", b"{bad", "not_json"),
        ("ad-requests", encoded()[:-1], "not_json"),
        ("ad-requests", encoded() + b"tail", "not_json"),
        ("ad-requests", encoded() + b"}", "not_json"),
        ("ad-requests", encoded() + b"," + encoded(), "not_json"),
        ("ad-requests", encoded() + b',"end"', "not_json"),
        ("ad-requests", encoded() + b',"end"]garbage', "not_json"),
        ("ad-requests", encoded() + b',"end"]' + encoded(), "not_json"),
        ("ad-requests", encoded() + b"]garbage", "not_json"),
        ("ad-requests", b"[" + encoded() + b"]", "not_json"),
        ("ad-requests", b"null", "not_json"),
        ("ad-requests", b'"text"', "not_json"),
        ("ad-requests", b"{'event_id':'e1'}", "not_json"),
        ("ad-requests", b'{"event_id":"a","event_id":"b"}', "not_json"),
        ("ad-requests", b"[" * 60_000, "not_json"),
        ("ad-requests", b'{"a":' * 19_000, "not_json"),
        ("ad-requests", b"9" * 5_000, "not_json"),
        ("ad-requests", b"\xef\xbb\xbf" + encoded(), "not_json"),
        ("ad-requests", encoded(event_ts=str(NOW)), "wrong_type"),
        ("ad-requests", encoded(event_ts=1.5), "wrong_type"),
        ("ad-requests", encoded(request_ts=2**70), "wrong_type"),
        ("ad-requests", encoded(event_id=5), "wrong_type"),
        ("ad-requests", encoded(event_id={"a": 1}), "wrong_type"),
        ("ad-requests", encoded(campaign_id=True), "wrong_type"),
        ("ad-requests", encoded(slots="s1"), "wrong_type"),
        ("ad-requests", encoded(slots=["s1", 1]), "wrong_type"),
        ("ad-requests", encoded(kind=["request"]), "wrong_type"),
        ("ad-requests", encoded(kind=...), "missing:kind"),
        ("ad-requests", encoded(kind="view"), "unknown_kind"),
        ("ad-requests", encoded("click"), "unknown_kind"),
        ("ad-requests", encoded(event_id="a/b"), "bad_id:event_id"),
        ("ad-requests", encoded(event_id=""), "bad_id:event_id"),
        ("ad-requests", encoded(event_id="e1\n"), "bad_id:event_id"),
        ("ad-requests", encoded(event_id="e\u0000"), "bad_id:event_id"),
        ("ad-requests", encoded(transaction_id="t" * 129), "bad_id:transaction_id"),
        ("ad-requests", encoded(user_key="a b"), "bad_id:user_key"),
        ("ad-requests", encoded(slots=[]), "bad_slots"),
        ("ad-requests", encoded(slots=[None]), "bad_slots"),
        ("ad-requests", encoded(slots=["a b"]), "bad_slots"),
        ("ad-requests", encoded(slots=[f"s{n}" for n in range(17)]), "bad_slots"),
        ("ad-requests", encoded(event_ts=-1), "bad_number:event_ts"),
        ("ad-requests", encoded(event_ts=-(2**63), server_ts=2**63 - 1), "bad_number:event_ts"),
        ("ad-impressions", encoded("impression", creative_length_ms=2_001), "bad_number:creative_length_ms"),
        ("ad-callbacks", encoded("conversion", value_micros=-1), "bad_number:value_micros"),
        ("ad-requests", encoded(request_ts=NOW + SKEW_MS + 1), "future:request_ts"),
        ("ad-requests", encoded(server_ts=NOW + SKEW_MS + 1), "future:server_ts"),
        ("ad-requests", encoded(request_ts=NOW - HORIZON_MS - 1), "expired:request_ts"),
        ("ad-requests", encoded(server_ts=NOW - HORIZON_MS - 1), "expired:server_ts"),
    )
    for name, kinds in KINDS_REQUIRING.items():
        for kind in kinds:
            yield GOOD[kind][0], encoded(kind, **{name: ...}), f"missing:{name}"
            yield GOOD[kind][0], encoded(kind, **{name: None}), f"missing:{name}"


def good_records() -> Iterator[tuple[str, bytes]]:
    """Yield topic and value of records that must be accepted."""
    yield from ((topic, encoded(kind)) for kind, (topic, _) in GOOD.items())
    yield from (
        ("ad-requests", b" " + encoded() + b"\n"),
        ("ad-requests", encoded(unknown="field", nested={"kind": 5, "event_id": []})),
        ("ad-requests", encoded(event_id="e" * 128, user_key=None)),
        ("ad-requests", encoded(slots=[f"s{n}" for n in range(16)])),
        ("ad-requests", encoded(request_ts=NOW + SKEW_MS)),
        ("ad-requests", encoded(request_ts=NOW - HORIZON_MS)),
        ("ad-requests", encoded() + b" " * (MAX_RECORD_BYTES - len(encoded()))),
        ("ad-impressions", encoded("impression", creative_length_ms=2_000)),
        *(("ad-requests", encoded(event_ts=NOW + off_ms)) for off_ms in (SKEW_MS, SKEW_MS + 1, -SKEW_MS, -SKEW_MS - 1)),
    )


def damaged_records() -> Iterator[tuple[str, bytes]]:
    """Yield 300 records in which random bytes are missing or replaced."""
    source = random.Random(11)
    for _ in range(300):
        topic, fields = source.choice(list(GOOD.values()))
        damaged = bytearray(json.dumps({"kind": "click", **fields}).encode())
        for _ in range(source.randrange(1, 6)):
            at = source.randrange(len(damaged))
            damaged[at : at + source.randrange(3)] = source.randbytes(source.randrange(3))
        yield topic, bytes(damaged)


@pytest.fixture(scope="module")
def routes(spark: SparkSession) -> dict[str, list[Route]]:
    """Route the records of all tests, appended at NOW, in one Spark job, because planning takes seconds."""
    sent: dict[str, list[tuple[str, bytes | None, Headers]]] = {
        "bad": [(topic, value, T0 + JUNK) for topic, value, _ in bad_records()],
        "good": [(topic, value, T0 + JUNK) for topic, value in good_records()],
        "headers": [("ad-requests", encoded(), headers) for headers, _ in KEPT_HEADERS.values()],
        "damaged": [(topic, value, T0) for topic, value in damaged_records()],
    }
    sent["headers"].append(("ad-requests", encoded(), EMPTY * (MAX_HEADERS + 1)))
    rows = [(b"key", v, topic, 0, n, h) for records in sent.values() for n, (topic, v, h) in enumerate(records)]
    source = spark.createDataFrame(rows, SOURCE_ROW).withColumn("timestamp", F.timestamp_millis(F.lit(NOW)))
    routed = iter(kafka_to_events(source, DemoSettings()).collect())
    found = {name: [route_of(next(routed)) for _ in records] for name, records in sent.items()}
    assert [] == [*routed]
    return found


def route_of(row: Row) -> Route:
    return row.topic, {h.key: bytes(h.value) for h in row.headers}, None if row.value is None else bytes(row.value)


def test_bad_record_is_rejected_with_reason_bytes_and_position(routes: dict[str, list[Route]]) -> None:
    """A raw value is cut, so the reject topic accepts it; the `bytes` header keeps the original length."""
    cases = zip(bad_records(), routes["bad"], strict=True)

    for n, ((topic, value, reason), (target, headers, raw)) in enumerate(cases):
        position, length = f"{topic}:0:{n:012d}".encode(), str(len(value or b"")).encode()
        expected = {"reason": reason.encode(), "src": position, "bytes": length}
        assert ("ad-rejected", expected, value and value[:MAX_RAW_BYTES]) == (target, headers, raw), (reason, value)


def test_good_record_passes_with_typed_fields(routes: dict[str, list[Route]]) -> None:
    """
    Records of all kinds pass; unknown fields and all headers except `t0` are dropped.

    The collector's time replaces the time of a device whose clock is off by more than the limit.
    """
    cases = zip(good_records(), routes["good"], strict=True)

    for n, ((topic, value), (target, headers, event)) in enumerate(cases):
        sent = {k: v for k, v in json.loads(value).items() if k in EVENTS.names and v is not None}
        is_off = abs(sent["event_ts"] - NOW) > SKEW_MS
        times = {"effective_ts": NOW if is_off else sent["event_ts"], "clock_skew": is_off, "appended_at": NOW}
        expected = {**sent, **times, "src": f"{topic}:0:{n:012d}"}
        assert ("events", {"t0": b"1"}, expected) == (target, headers, json.loads(event)), value


KEPT_HEADERS: dict[str, tuple[Headers, dict[str, bytes]]] = {
    "no-headers": ([], {}),
    "other-header-first": (JUNK + T0, {"t0": b"1"}),
    "exactly-at-the-limit": (EMPTY * (MAX_HEADERS - 1) + T0, {"t0": b"1"}),
    "repeated": ([*T0, ("t0", b"2")], {"t0": b"1"}),
    "longest": ([("t0", b"9" * 16)], {"t0": b"9" * 16}),
    "too-long": ([("t0", b"9" * 17)], {}),
    "no-number": ([("t0", None), ("t0", b""), ("t0", b"x"), ("t0", b"1\n"), ("t0", b"\xff")], {}),
}
"""Headers of a record, and the subset in `events`."""


def test_only_the_first_valid_send_time_is_kept(routes: dict[str, list[Route]]) -> None:
    """A record whose headers would exceed the size limit of `events` goes to the reject topic, without its headers."""
    *others, (target, rejected, raw) = routes["headers"]

    found = {name: (target, kept) for name, (target, kept, _) in zip(KEPT_HEADERS, others, strict=True)}
    assert {name: ("events", kept) for name, (_, kept) in KEPT_HEADERS.items()} == found
    assert ("ad-rejected", b"bad_headers", encoded()) == (target, rejected["reason"], raw)
    assert {"reason", "src", "bytes"} == rejected.keys()


def test_random_damage_never_ends_the_query(routes: dict[str, list[Route]]) -> None:
    assert {"events", "ad-rejected"} == {target for target, _, _ in routes["damaged"]}
    for (_, value), (target, _, raw) in zip(damaged_records(), routes["damaged"], strict=True):
        assert target == "events" or value == raw
