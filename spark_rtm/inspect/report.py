"""The inspection report: its JSON fields, which `report.schema.json` describes, and its human-readable text."""

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from spark_rtm.inspect.files.state import Operator
from spark_rtm.inspect.mode import Span
from spark_rtm.inspect.start import CHANGES, Move
from spark_rtm.text.finding import printable

PROBLEM, NOTE = "problem", "note"


@dataclass(frozen=True)
class Finding:
    """A problem or note in the inspection report. A problem sets exit status 1."""

    level: str
    text: str
    remedy: str = ""


@dataclass(frozen=True)
class PartitionState:
    """A query's position in a Kafka partition. Broker fields are None without `--bootstrap-servers`."""

    topic: str
    partition: int
    committed: int | None
    """End offset of the last committed batch: the offset of the next record to read."""
    planned: int | None
    first: int | None = None
    end: int | None = None
    lag: int | None = None
    is_stuck: bool | None = None
    """Whether unread records are older than the last committed batch."""


@dataclass(frozen=True)
class Source:
    """A source of the inspected query."""

    name: str
    is_kafka: bool
    partitions: tuple[PartitionState, ...]
    offsets: Any = None
    """The committed offsets, if the source is not Kafka."""


@dataclass(frozen=True)
class Pace:
    """Statistics of the time between batch starts, in seconds."""

    median_seconds: float
    min_seconds: float
    max_seconds: float
    intervals: int


@dataclass(frozen=True)
class LogSize:
    """The size of a checkpoint log or folder."""

    name: str
    entries: int
    bytes: int
    first: int | None
    last: int | None


@dataclass(frozen=True)
class Replay:
    """The records that a restart processes again."""

    records: int | None
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
        """Return the report as a JSON-serializable dictionary."""
        return {**asdict(self), "has_problem": self.has_problem}


LABEL_WIDTH = 12
_UNITS = ("B", "kB", "MB", "GB", "TB")


def render(report: Report, now: float) -> str:
    """Format a report as aligned text. `now` is the time in seconds since 1970."""
    lines = [f"{label:{LABEL_WIDTH}}{text}".rstrip() for label, text in _lines(report, now)]
    return "\n".join(printable(line) for line in lines)


def _lines(report: Report, now: float) -> Iterator[tuple[str, str]]:
    yield "checkpoint", report.checkpoint
    yield "query id", report.query_id or "unknown: see the problem with the file metadata"
    for label, span in zip(_labels("written by"), reversed(report.modes), strict=False):
        batches = f"batch {span.first}" if span.first == span.last else f"batches {span.first} to {span.last}"
        yield label, f"{span.mode} ({batches}): {span.evidence}"
    yield (
        "format",
        f"commit log {_version(report.commit_log_version)}, offset log {_version(report.offset_log_version)}",
    )
    provider = (report.state_store_provider or "unknown provider").rpartition(".")[2]
    yield "state store", f"{provider}; {report.shuffle_partitions or 'unknown number of'} shuffle partitions"
    yield "continue in", f"real-time mode: {_move(report.real_time)}"
    is_same = report.micro_batch == report.real_time
    yield "", f"micro-batch mode: {'no, for the same reason' if is_same else _move(report.micro_batch)}"
    if report.operators:
        changes = [f"{name}: {text}" for name, text in CHANGES.items()]
        yield from zip(_labels("new code"), changes, strict=False)
    yield from _batches(report, now)
    yield from _offsets(report)
    records = report.replay.records
    count = "the records" if records is None else f"{records:,} record{'' if records == 1 else 's'}"
    yield "restart", f"repeats {count} {report.replay.text}"
    yield from _files(report)
    for finding in report.findings:
        yield finding.level, finding.text + (f"; {finding.remedy}" if finding.remedy else "")


def _batches(report: Report, now: float) -> Iterator[tuple[str, str]]:
    yield "batches", f"last committed {_number(report.last_committed)}, last planned {_number(report.last_planned)}"
    if report.pace:
        pace = report.pace
        yield (
            "pace",
            f"{pace.median_seconds:.1f} s between batches ({pace.min_seconds:.1f} to {pace.max_seconds:.1f} s)",
        )
    if report.last_commit_seconds is not None:
        age = max(0, now - report.last_commit_seconds)
        yield "last commit", f"{_moment(report.last_commit_seconds)}, {age:,.0f} s ago"
    if report.watermark_ms:
        yield "watermark", _moment(report.watermark_ms / 1000)


def _offsets(report: Report) -> Iterator[tuple[str, str]]:
    partitions = [partition for source in report.sources for partition in source.partitions]
    lines = list(_table(partitions)) if partitions else []
    lines += [f"source {source.name}: {source.offsets}" for source in report.sources if not source.is_kafka]
    yield from zip(_labels("offsets"), lines, strict=False)


def _table(partitions: Sequence[PartitionState]) -> Iterator[str]:
    columns: dict[str, list[object]] = {
        "topic": [each.topic for each in partitions],
        "partition": [each.partition for each in partitions],
        "committed": [each.committed for each in partitions],
        "planned": [each.planned for each in partitions],
        "end": [each.end for each in partitions],
        "lag": [each.lag for each in partitions],
    }
    if columns["planned"] == columns["committed"]:
        del columns["planned"]
    shown = {name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)}
    rows = [
        list(shown),
        *(["-" if cell is None else str(cell) for cell in row] for row in zip(*shown.values(), strict=True)),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        # Names are left-aligned, numbers right-aligned.
        numbers = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([row[0].ljust(widths[0]), *numbers])


def _files(report: Report) -> Iterator[tuple[str, str]]:
    texts = []
    for log in report.logs:
        batches = "" if log.first is None else f", batches {log.first} to {log.last}"
        texts.append(f"{log.name}/: {log.entries} entries{batches}, {_size(log.bytes)}")
    for operator in report.operators:
        changes = [size for _, size in sorted(operator.changes_bytes.items())]
        each = f", {_size(sum(changes) / len(changes))} of changes per batch" if changes else ""
        versions = f", versions {operator.versions[0]} to {operator.versions[1]}" if operator.versions else ""
        texts.append(
            f"state/{operator.number}/: {operator.name}, {operator.partitions} partitions, {operator.files} files, "
            f"{_size(operator.bytes)}{versions}{each}"
        )
    yield from zip(_labels("files"), texts, strict=False)


def _labels(first: str) -> Iterator[str]:
    yield first
    while True:
        yield ""


def _move(move: Move) -> str:
    return f"{'yes' if move.is_possible else 'no'}, {move.reason}" + (f"; {move.remedy}" if move.remedy else "")


def _version(version: int | None) -> str:
    return "without entries" if version is None else f"v{version}"


def _number(batch: int | None) -> str:
    return "none" if batch is None else str(batch)


def _size(size: float) -> str:
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def _moment(seconds: float) -> str:
    try:
        return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.0f} s after 1970"
