import json
from dataclasses import asdict

import pytest
from confluent_kafka import Producer

from examples.attribution.audit.reconciliation import reconcile
from examples.attribution.audit.run_log import RunLog
from examples.attribution.audit.run_log_reader import RunLogReader
from examples.attribution.correlation.rule import Result
from examples.attribution.credit.models import CreditRules
from examples.attribution.settings import Settings
from examples.attribution.topics import (
    ATTRIBUTED_TOPIC,
    CREDITS_TOPIC,
    ERASURES_TOPIC,
    EVENTS_TOPIC,
    PACING_TOPIC,
    REJECTED_TOPIC,
    TOPICS,
)
from tests.helpers import eventually

pytestmark = pytest.mark.services

GARBAGE = [b"", b"{bad", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"result_id": 5}', b'{"src": "s", "kind": "view"}']
RESULT = Result("a", 2, "slot", "filled", "t", 1, "c", 1, "ad-requests:0:000000000000", 1, clock_skew=False)
Record = tuple[str, bytes | None, dict[str, str | bytes | None]]


def log_of(kafka: str, settings: Settings, *records: Record) -> RunLog:
    producer = Producer({"bootstrap.servers": kafka})
    for topic, value, headers in records:
        producer.produce(settings.topic(topic), value, b"\xffkey", partition=0, headers=headers)
    assert 0 == producer.flush(30)
    reader = RunLogReader(kafka, settings, dict.fromkeys(TOPICS, settings.partitions))
    read = 0

    def is_read() -> bool:
        nonlocal read
        read += reader.poll(0.5)
        return read >= len(records)

    try:
        eventually(is_read, 60, f"{len(records)} records")
    finally:
        reader.close()
    return reader.log


def test_garbage_is_read_and_reported(kafka: str, settings: Settings) -> None:
    """Source records can have any headers; records that no query has written are reported by their positions."""
    headers: list[dict[str, str | bytes | None]] = [
        {"t0": b"5", "label": b"normal"},
        {"t0": b"x", "label": b"\xff"},
        {"t0": b"9" * 5_000, "label": None},
        {"t0": b"-1"},
        {},
    ]
    sources: list[Record] = [("ad-requests", b"value", each) for each in headers]
    topics = (EVENTS_TOPIC, ATTRIBUTED_TOPIC, CREDITS_TOPIC, PACING_TOPIC)
    records: list[Record] = [(topic, value, {}) for topic in topics for value in [None, *GARBAGE]]
    records += [(REJECTED_TOPIC, None, {}), (REJECTED_TOPIC, b"raw", {"src": None, "reason": b"r"})]
    records += [(ERASURES_TOPIC, b"value", {}), (ERASURES_TOPIC, None, {})]

    log = log_of(kafka, settings, *sources, *records, (ATTRIBUTED_TOPIC, json.dumps(asdict(RESULT)).encode(), {}))

    labels_and_times = [(record.label, record.t0) for record in log.sources.values()]
    assert [("normal", 5), ("\ufffd", 0), ("", 0), ("", 0), ("", 0)] == labels_and_times
    assert len(records) - 1 == len(log.unreadable)
    assert ["a"] == list(log.results)
    assert ["\ufffdkey"] == list(log.erasures)
    differences = reconcile(log, settings, CreditRules(), [], {}).differences
    position = f"{settings.topic(ATTRIBUTED_TOPIC)}:0:000000000000"
    assert f"record {position} was not written by the pipeline: its value or a header is invalid" in differences
