"""Report an inspected checkpoint's problems (exit status 1) and notes."""

from collections.abc import Iterator, Sequence

from spark_rtm import page
from spark_rtm.inspect.files.content import Checkpoint
from spark_rtm.inspect.mode import Span
from spark_rtm.inspect.report import NOTE, PROBLEM, Finding, Pace, PartitionState
from spark_rtm.inspect.start import NEW_CHECKPOINT, Move

# `spark.sql.streaming.minBatchesToRetain` is 100, and Spark deletes older entries after each batch.
RETAINED_BATCHES = 100
# Number of usual commit intervals without a commit after which a query has probably stopped.
MAX_SILENT_INTERVALS = 10


def of_files(checkpoint: Checkpoint, real_time: Move, micro_batch: Move) -> Iterator[Finding]:
    """Yield the findings for which the checkpoint files suffice."""
    if not real_time.is_possible and real_time == micro_batch:
        yield Finding(PROBLEM, f"neither mode can continue: {real_time.reason}", real_time.remedy)
    elif not real_time.is_possible and not micro_batch.is_possible:
        yield Finding(
            PROBLEM,
            "neither real-time mode nor micro-batch mode of OSS 4.3.0 can continue this checkpoint",
            NEW_CHECKPOINT,
        )
    yield from _of_logs(checkpoint)


def _of_logs(checkpoint: Checkpoint) -> Iterator[Finding]:
    planned, committed = checkpoint.last_planned, checkpoint.last_committed
    if planned and (committed is None or planned.batch > committed.batch):
        yield Finding(
            NOTE,
            f"batch {planned.batch} is planned but not committed: it is running, or the query ended during it; "
            "a restart processes its records again",
        )
    if planned and not committed and planned.batch:
        yield Finding(
            NOTE,
            "no batch is committed, so real-time mode would delete offsets/ and begin with batch 0 at the option "
            "startingOffsets",
            "restore commits/ from a backup, unless the query has never committed a batch",
        )
    for batch in sorted({batch for batch, _ in checkpoint.prepared}):
        is_committed = committed is not None and batch <= committed.batch
        numbers = ", ".join(str(partition) for number, partition in checkpoint.prepared if number == batch)
        yield Finding(
            NOTE,
            f"batch {batch} has prepared transactions of partitions {numbers}, which the query "
            f"{'commits' if is_committed else 'aborts'} when it starts again"
            f"{'' if is_committed else ', because the batch is not committed'}",
            "if the query is not running, start it before the brokers abort the transactions" if is_committed else "",
        )
    for damage in checkpoint.skipped:
        yield Finding(NOTE, f"{damage}, but Spark does not read this file when the query starts")
    for log in (checkpoint.offsets, checkpoint.commits):
        if log.unfinished:
            yield Finding(
                NOTE,
                f"{log.name}/ contains {len(log.unfinished)} temporary files: an entry is being written, or the query "
                "ended while it was written; Spark ignores them",
            )
        if len(log.entries) > 2 * RETAINED_BATCHES:
            yield Finding(
                NOTE,
                f"{log.name}/ contains {len(log.entries)} entries, but Spark retains {RETAINED_BATCHES} by default",
                "check spark.sql.streaming.minBatchesToRetain and the permission to delete files",
            )


def of_time(
    pace: Pace | None, last_commit_seconds: float | None, now: float, modes: Sequence[Span]
) -> Iterator[Finding]:
    """Yield the findings about commit times."""
    age = None if last_commit_seconds is None else now - last_commit_seconds
    # A micro-batch query without input commits nothing, so a long silence is normal.
    is_regular = bool(modes) and modes[-1].mode in {"real-time", "continuous"}
    if pace and age is not None and is_regular and age > MAX_SILENT_INTERVALS * max(pace.max_seconds, 1):
        yield Finding(
            NOTE,
            f"the last commit is {age:,.0f} s old, but batches took {pace.median_seconds:g} s: "
            "the query has stopped or hangs",
        )


def of_broker(partitions: Sequence[PartitionState]) -> Iterator[Finding]:
    """Yield the findings that require the broker's offsets."""
    for topic in sorted({each.topic for each in partitions if each.end is None}):
        numbers = [str(each.partition) for each in partitions if each.topic == topic and each.end is None]
        yield Finding(
            PROBLEM,
            f"the broker has no partition {', '.join(numbers)} of topic {topic}, so a restart fails",
            "check --bootstrap-servers; if the topic was deleted, start a new checkpoint",
        )
    for each in partitions:
        if each.end is not None and each.first is not None:
            yield from _of_partition(each, each.first, each.end)


def _of_partition(each: PartitionState, first: int, end: int) -> Iterator[Finding]:
    name = f"partition {each.partition} of topic {each.topic}"
    if each.committed is None:
        yield Finding(NOTE, f"{name} is new: no committed batch contains it (lag {each.lag})")
    elif each.committed > end:
        yield Finding(
            PROBLEM,
            f"{name} ends at {end}, before the committed offset {each.committed}: the topic was created again",
            "start a new checkpoint",
        )
    elif each.committed < first:
        yield Finding(
            PROBLEM,
            f"the broker has deleted {first - each.committed:,} records of {name} that no committed batch has read, "
            "so a restart in real-time mode fails, even with failOnDataLoss=false",
            "raise the retention of the topic; to accept the loss, run the query once with trigger(availableNow=True) "
            f"and failOnDataLoss=false on this checkpoint ({page('references/errors_kafka.md#offset-out-of-range')})",
        )
    elif each.is_stuck:
        yield Finding(
            PROBLEM,
            f"{name} does not move: it stays at offset {each.committed}, although records from before the last "
            f"committed batch wait there (lag {each.lag})",
            f"give the query a task slot for each partition ({page('references/cluster_and_slots.md')})",
        )
