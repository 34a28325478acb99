"""
Match each ad request with its acknowledgements in real-time mode.

An acknowledgement may arrive before its request. A timer limits how long the query waits for either record, so the
state of every transaction expires. `matcher.scala` contains the same processor in Scala.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from spark_rtm.realtime.decoding import headers
from spark_rtm.realtime.limits import MAX_RECORD_BYTES
from spark_rtm.realtime.python_state import TICK, transform_with_state, with_ticks
from spark_rtm.services.scala import scala_object

REQUESTS, ACKS, TICKS, MATCHES, REJECTED = "requests", "acks", "ticks", "matches", "rejected"
RECORD = "transaction_id string, id string"
"""The JSON value of a request and of an acknowledgement. `id` is unique within its topic."""
RESULT = (
    "transaction_id string, request_id string, ack_id string, status string, key binary, value binary, reason string"
)
"""
A result. `status` is `matched`, `unanswered` (no acknowledgement in time), `orphan` (no request in time) or `rejected`.

Only a rejected record has `reason`, and `key` and `value`, which are those of the source record.
"""
MAX_ID = 100
Result = tuple[str, str | None, str | None, str]
"""The transaction, request, acknowledgement and status of a result."""
SCALA = Path(__file__).with_suffix(".scala")


class Matcher(StatefulProcessor):
    """Waits for each transaction's request and acknowledgements until `wait_ms` after its first record was read."""

    def __init__(self, wait_ms: int) -> None:
        self._wait_ms = wait_ms

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state. The timer clears the state, and the TTL removes state if its timer is lost."""
        self._handle = handle
        self._request = handle.getValueState("request", "id string, answered boolean", 2 * self._wait_ms)
        self._waiting = handle.getListState("waiting", "id string", 2 * self._wait_ms)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: D102, N802, N803
        for row in rows:
            # An exception would end the query, and a restart would read the same row again. `try` contains only code
            # that does not use state: an error of the state store must end the query.
            try:
                record_id = checked_id(row)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with the row
                reason = f"{type(error).__name__}: {error}"
                yield _result(status="rejected", key=row.key, value=row.value, reason=reason)
                continue
            # One timer per key: only the first row sets it, and `handleExpiredTimer` clears all state of the key.
            if not self._request.exists() and not self._waiting.exists():
                self._handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + self._wait_ms)
            yield from (self._requested if row.kind == REQUESTS else self._acknowledged)(key[0], record_id)

    def _requested(self, key: str, request_id: str) -> Iterator[Row]:
        if self._request.exists():
            return  # a repeat
        early = [ack_id for (ack_id,) in self._waiting.get()]
        self._waiting.clear()
        self._request.update((request_id, bool(early)))
        yield from (_result(key, request_id, ack_id, "matched") for ack_id in early)

    def _acknowledged(self, key: str, ack_id: str) -> Iterator[Row]:
        if not self._request.exists():
            self._waiting.appendValue((ack_id,))
            return
        request_id: Any = self._request.get()[0]  # type: ignore[index] # it exists
        self._request.update((request_id, True))
        yield _result(key, request_id, ack_id, "matched")

    def handleExpiredTimer(self, key: Any, timerValues: TimerValues, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: ARG002, D102, N802, N803
        if self._request.exists() and not self._request.get()[1]:  # type: ignore[index] # it exists
            yield _result(key[0], self._request.get()[0], status="unanswered")  # type: ignore[index] # it exists
        for (ack_id,) in self._waiting.get():
            yield _result(key[0], ack_id=ack_id, status="orphan")
        self._request.clear()
        self._waiting.clear()

    def close(self) -> None:
        """Do nothing."""


def _result(
    transaction_id: str | None = None,
    request_id: str | None = None,
    ack_id: str | None = None,
    status: str = "",
    key: bytes | None = None,
    value: bytes | None = None,
    reason: str | None = None,
) -> Row:
    names = ("transaction_id", "request_id", "ack_id", "status", "key", "value", "reason")
    return Row(*names)(transaction_id, request_id, ack_id, status, key, value, reason)


def checked_id(row: Row) -> str:
    """Return the id of the record. Raise an exception if the record has none."""
    if not row.transaction_id:
        raise ValueError(f"no transaction_id of 1 to {MAX_ID} characters")
    if not row.id or len(row.id) > MAX_ID:
        raise ValueError(f"no id of 1 to {MAX_ID} characters")
    return str(row.id)


def arrivals_of(records: DataFrame, prefix: str = "") -> DataFrame:
    """Decode Kafka source rows of both topics. A record that cannot be decoded gets an empty transaction id."""
    text = F.when(F.length("value") <= MAX_RECORD_BYTES, F.col("value").cast("string"))
    record = F.from_json(text, RECORD)
    transaction = F.col("record.transaction_id")
    return records.withColumn("record", record).select(
        # The processor rejects an empty key without using its state.
        F.when(F.length(transaction) <= MAX_ID, transaction).otherwise("").alias("transaction_id"),
        F.substring("topic", len(prefix) + 1, 100).alias("kind"),
        F.col("record.id").alias("id"),
        *("key", "value"),
    )


def matches_in_python(arrivals: DataFrame, ticks: DataFrame, wait_ms: int) -> DataFrame:
    """Return the rows with the results of the Python processor."""
    return transform_with_state(arrivals, ["transaction_id"], Matcher(wait_ms), RESULT, ticks)


def matches_in_scala(
    arrivals: DataFrame, ticks: DataFrame, wait_ms: int, source: Path = SCALA, name: str = "acknowledgements.Matcher"
) -> DataFrame:
    """Return the results of the Scala processor, which is the object `name` in the file `source`."""
    spark = arrivals.sparkSession
    scala = scala_object(spark, source, name)
    rows = with_ticks(arrivals, ["transaction_id"], ticks).drop(TICK)
    return DataFrame(scala.of(rows._jdf, wait_ms), spark)  # noqa: SLF001 - for Scala


def sink_rows_of(results: DataFrame, prefix: str = "") -> DataFrame:
    """Convert results to Kafka sink rows. All copies of one result have the same key."""
    is_rejected = F.col("status") == "rejected"
    record_id = F.concat_ws(
        "/", "transaction_id", F.coalesce("request_id", F.lit("-")), F.coalesce("ack_id", F.lit("-"))
    )
    value = F.to_json(F.struct("transaction_id", "request_id", "ack_id", "status"))
    return results.select(
        F.when(is_rejected, F.col("key")).otherwise(record_id.cast("binary")).alias("key"),
        F.when(is_rejected, F.col("value")).otherwise(value.cast("binary")).alias("value"),
        F.when(is_rejected, prefix + REJECTED).otherwise(prefix + MATCHES).alias("topic"),
        F.when(is_rejected, headers(reason=F.col("reason"))).alias("headers"),
    )


def replay(requests: Iterable[bytes | None], acks: Iterable[bytes | None]) -> set[Result]:
    """Return the expected results for the values in both topics, if each record arrives before its transaction ends."""
    request_of: dict[str, str] = {}
    for transaction, identity in _ids(requests):
        request_of.setdefault(transaction, identity)
    found, answered = set[Result](), set[str]()
    for transaction, identity in _ids(acks):
        request_id = request_of.get(transaction)
        found.add((transaction, request_id, identity, "matched" if request_id else "orphan"))
        answered.add(transaction)
    return found | {(name, request_of[name], None, "unanswered") for name in request_of.keys() - answered}


def _ids(values: Iterable[bytes | None]) -> Iterator[tuple[str, str]]:
    for value in values:
        try:
            record: Mapping[str, Any] = json.loads(value or b"")
            transaction, identity = record["transaction_id"], record["id"]
        except (ValueError, TypeError, KeyError):
            continue
        if identity:
            yield transaction, identity
