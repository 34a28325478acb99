"""One hop of the pipeline on the broker: run its query, send its input, read its output."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zlib import crc32

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.correlation.rule import Event
from spark_rtm.realtime.queries import wait_until
from spark_rtm.testing.records import Sent
from spark_rtm.testing.trial import Trial
from tests.helpers import kafka_rows, new_topic

PARTITIONS = 2
DEADLINE_SECONDS = 120
TICKS = "ad-ticks"


class Hop(Trial):
    """A query from source topics, given by their full names, to a topic of its own or to another query's topic."""

    query: StreamingQuery

    def __init__(
        self,
        spark: SparkSession,
        kafka: str,
        transform: Callable[[DataFrame], DataFrame],
        folder: Path,
        sources: Sequence[str],
        target: str = "",
    ) -> None:
        """Prepare a query; `transform` maps Kafka source rows to sink rows."""
        rows = transform(kafka_rows(spark, kafka, ",".join(sources)))
        super().__init__(spark, kafka, rows, dict.fromkeys(sources, PARTITIONS), folder, target or new_topic(kafka, 1))
        self.emitted: list[dict[str, Any]] = []
        self.newest: dict[str, dict[str, Any]] = {}

    def run(self, interval_ms: int = 2_000) -> None:
        """Start the query, named after its folder, in real-time mode; continue from a checkpoint."""
        self.query = self.start(self.folder.name, interval_ms)

    def send_events(self, events: Sequence[Event]) -> None:
        """Send each event to its transaction's partition, so all queries read these events in the same order."""
        for partition in range(PARTITIONS):
            own = [event for event in events if crc32(event.transaction_id.encode()) % PARTITIONS == partition]
            self.send(sent_events(own), partition=partition)

    def wait(self, is_true: Callable[[], object], what: str, *others: StreamingQuery) -> None:
        """Wait until `is_true()` returns a true value; raise the error of a query that fails."""
        try:
            wait_until(is_true, DEADLINE_SECONDS, what, [self.query, *others])
        except TimeoutError as error:
            error.add_note("\n".join(progress.json for progress in self.query.recentProgress[-10:]))
            raise

    def has_committed(self) -> bool:
        return any(progress.numInputRows for progress in self.query.recentProgress)

    def total(self, metric: str) -> int:
        """Return the sum of a state metric over the batches of this run."""
        return sum(getattr(p.stateOperators[0], metric) for p in self.query.recentProgress if p.stateOperators)

    def read(self) -> dict[str, dict[str, Any]]:
        """Read the rows that were written since the last call, and return the newest version of each result."""
        for record in self.received():
            row = record.fields()
            assert row["result_id"].encode() == record.key
            self.emitted.append(row)
            known = self.newest.get(row["result_id"])
            if known is None or row["version"] > known["version"]:
                self.newest[row["result_id"]] = row
        return self.newest


def ticks(spark: SparkSession, kafka: str) -> DataFrame:
    return kafka_rows(spark, kafka, TICKS, startingOffsets="latest")


def sent(key: str, fields: dict[str, Any]) -> Sent:
    return Sent(json.dumps({k: v for k, v in fields.items() if v is not None}).encode(), key.encode())


def sent_events(events: Iterable[Event]) -> list[Sent]:
    return [sent(event.transaction_id, {**asdict(event), "slots": event.slots or None}) for event in events]
