"""
Monitor a running demonstration: collect results, update the live view, and detect failures and completion.

Spark does not report when a real-time query has read all input. The monitor therefore considers a run complete when
every expected result has arrived and is final.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.attributed_to_postgres import ResultsConsumer
from examples.attribution.audit.run_log_reader import RunLogReader
from examples.attribution.demo.live_view import LiveView
from examples.attribution.pacing.throttle import DeliveryThrottle
from spark_rtm.realtime.keeper import Keeper

POLL_SECONDS = 0.1
MIN_SETTLED_POLLS = 3


@dataclass(frozen=True)
class RunMonitor:
    """Monitors the parts of a run that can fail or fall behind."""

    reader: RunLogReader
    results: ResultsConsumer
    throttle: DeliveryThrottle
    keeper: Keeper
    view: LiveView
    micro_batch: Sequence[str]
    """Names of the micro-batch queries. Only these queries report their position in the input during the run."""

    def poll(self, *, is_draining: bool = False) -> None:
        """Read new records, update the view, restart failed queries, and raise permanent failures."""
        self.reader.poll(POLL_SECONDS)
        self.keeper.poll()
        self.results.raise_if_failed()
        self.throttle.raise_if_failed()
        if self.view.beside:
            self.view.beside.poll()
        self.view.update(self.reader.log, self.results.metrics, is_draining=is_draining)

    def is_settled(self) -> bool:
        """Return whether every result is final and the micro-batch queries have read all input."""
        if not self.reader.is_settled():
            return False
        ends = self.reader.ends()
        return all(_has_read(self.keeper.queries[name], ends) for name in self.micro_batch)

    def drain(self, idle_seconds: float) -> None:
        """Poll until the run is settled or makes no progress."""
        poll_until_settled(
            lambda: self.poll(is_draining=True), self.is_settled, self.reader.log.outstanding, idle_seconds
        )
        self.view.print_line("stopping the queries, and comparing all results with the replay")


def poll_until_settled(
    poll: Callable[[], None],
    is_settled: Callable[[], bool],
    outstanding: Callable[[], int],
    idle_seconds: float,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Poll until the run is settled, or until `idle_seconds` have passed without progress."""
    least, deadline, settled_polls = outstanding(), now() + idle_seconds, 0
    # The last record can change several results, and these results can arrive in separate polls. The run is therefore
    # complete only after several settled polls in a row.
    while settled_polls < MIN_SETTLED_POLLS and now() < deadline:
        poll()
        settled_polls = settled_polls + 1 if is_settled() else 0
        if (left := outstanding()) < least:
            least, deadline = left, now() + idle_seconds


def is_past(position: Mapping[str, Mapping[str, int]], ends: Mapping[tuple[str, int], int]) -> bool:
    """Return whether a position (next offset by topic and partition) has reached the end of each partition."""
    return all(
        offset >= ends[topic, int(partition)]
        for topic, offsets in position.items()
        for partition, offset in offsets.items()
    )


def _has_read(query: StreamingQuery, ends: dict[tuple[str, int], int]) -> bool:
    progress = query.lastProgress
    if progress is None or not progress.sources[0].endOffset:
        return False
    return is_past(json.loads(progress.sources[0].endOffset), ends)
