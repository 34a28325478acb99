"""The result of an inspection, whose fields are the JSON output. `report.schema.json` describes them."""

from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from spark_rtm.inspect.files.state import Operator
from spark_rtm.inspect.mode import Span
from spark_rtm.inspect.next_mode import Move

PROBLEM, NOTE = "problem", "note"


@dataclass(frozen=True)
class Finding:
    """A problem or note of the report. A problem makes the exit status 1."""

    level: str
    text: str
    remedy: str = ""


@dataclass(frozen=True)
class PartitionState:
    """The position of a query in a Kafka partition. Broker fields are None without `--bootstrap-servers`."""

    topic: str
    partition: int
    committed: int | None
    """End offset of the last committed batch: the next record to read."""
    planned: int | None
    """End offset of the last planned batch."""
    first: int | None = None
    end: int | None = None
    lag: int | None = None
    is_stuck: bool | None = None
    """Whether unread records are older than the last committed batch."""


@dataclass(frozen=True)
class Source:
    """A source of the query."""

    name: str
    is_kafka: bool
    partitions: tuple[PartitionState, ...]
    offsets: Any = None
    """The committed offsets of a source that is not Kafka."""


@dataclass(frozen=True)
class Pace:
    """The time between batch starts, in seconds."""

    median_seconds: float
    min_seconds: float
    max_seconds: float
    intervals: int


@dataclass(frozen=True)
class LogSize:
    """The size of a log or folder."""

    name: str
    entries: int
    bytes: int
    first: int | None
    last: int | None


@dataclass(frozen=True)
class Replay:
    """The records that a restart processes again."""

    records: int | None
    """Number of records; None if it is unknown without the broker."""
    text: str


@dataclass(frozen=True)
class Report:
    """The result of an inspection."""

    checkpoint: str
    query_id: str | None
    modes: tuple[Span, ...]
    offset_log_version: int | None
    commit_log_version: int | None
    state_store_provider: str | None
    shuffle_partitions: int | None
    real_time: Move
    micro_batch: Move
    last_planned: int | None
    last_committed: int | None
    last_commit_seconds: float | None
    watermark_ms: int | None
    pace: Pace | None
    sources: tuple[Source, ...]
    replay: Replay
    operators: tuple[Operator, ...]
    logs: tuple[LogSize, ...]
    findings: tuple[Finding, ...]

    @property
    def has_problem(self) -> bool:
        """Whether any finding is a problem."""
        return any(finding.level == PROBLEM for finding in self.findings)

    def content(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {**asdict(self), "has_problem": self.has_problem}


def pace_of(moments: list[float]) -> Pace | None:
    """Return the pace of batches that began at these times, or None for fewer than two batches."""
    intervals = [after - before for before, after in pairwise(moments)]
    if not intervals:
        return None
    return Pace(round(median(intervals), 3), round(min(intervals), 3), round(max(intervals), 3), len(intervals))
