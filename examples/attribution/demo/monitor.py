"""
Follow a run while it goes on: read and show what comes, raise what fails, and find the end.

What arrives are the reader of the topics, the table's follower, the ad server's brake and the queries.
Real-time mode never says that it has caught up, so the end of a run is when every answer is there and none can change.
"""

import json
import time
from dataclasses import dataclass

from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.attributed_to_postgres import Follower
from examples.attribution.audit.topic_reader import LedgerReader
from examples.attribution.demo.live_view import View
from examples.attribution.pacing.throttle import Brake
from examples.realtime.queries import raise_if_failed

POLL_SECONDS = 0.1
QUIET_POLLS = 3


@dataclass(frozen=True)
class Followed:
    """Everything that has to be watched while a run goes on."""

    reader: LedgerReader
    follower: Follower
    ad_server: Brake
    queries: list[StreamingQuery]
    view: View

    def poll(self, *, draining: bool = False) -> None:
        """Read what has come, show it, and raise what has failed."""
        self.reader.poll(POLL_SECONDS)
        raise_if_failed(self.queries)
        self.follower.raise_if_failed()
        self.ad_server.raise_if_failed()
        self.view.tell(self.ad_server.notices)
        self.view.show(self.reader.books, draining=draining)

    def is_settled(self) -> bool:
        """Tell whether every answer is final, and no micro-batch has anything left to read."""
        if not self.reader.is_settled():
            return False
        ends, by_name = self.reader.ends(), {query.name: query for query in self.queries}
        slow = (by_name[name] for name in ("events_to_timeouts", "touches_to_credit"))
        return all(_has_read(query, ends) for query in slow)

    def drain(self, seconds: float) -> None:
        """Follow until everything is settled, at most for `seconds`; what is missing then is found later."""
        deadline, quiet = time.monotonic() + seconds, 0
        # The last record may change several results, and its own may be the first: so read until it is quiet.
        while quiet < QUIET_POLLS and time.monotonic() < deadline:
            self.poll(draining=True)
            quiet = quiet + 1 if self.is_settled() else 0


def _has_read(query: StreamingQuery, ends: dict[tuple[str, int], int]) -> bool:
    progress = query.lastProgress
    if progress is None or not progress.sources[0].endOffset:
        return False
    read = json.loads(progress.sources[0].endOffset)
    return all(
        offset >= ends[topic, int(partition)]
        for topic, offsets in read.items()
        for partition, offset in offsets.items()
    )
