"""Kill a query's process during a batch, restart the query, and count lost and repeated results."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_rtm.prove.job.runner import rows_of
from spark_rtm.prove.job.target import Job
from spark_rtm.prove.process import OtherProcess, other_process
from spark_rtm.prove.query import Query, evaluated, results_of
from spark_rtm.prove.records.samples import compared_texts, fields_of, is_time
from spark_rtm.prove.verdicts import GOOD, WRONG, Verdict
from spark_rtm.realtime import control
from spark_rtm.realtime.positions import NO_BATCH, Position, committed_position
from spark_rtm.realtime.queries import QueryFailedError, raise_if_failed, wait_until
from spark_rtm.testing.records import Received, Sent
from spark_rtm.testing.trial import Trial

PAGE = "references/restarts.md#what-ends-a-query"
RECORDS = "records that produce results"
CHECKPOINT = "restart"
# If commands can end a batch, the interval is long, so that the batch does not end before the kill.
INTERVAL_MS, COMMANDED_INTERVAL_MS = 5_000, 300_000
AGAIN_INTERVAL_MS = 1_000
ATTEMPTS = 3
DEADLINE_SECONDS = 30.0
QUIET_POLLS = 5
# All records go to one partition, because a query reads other partitions in another order each time it starts.
PARTITION = 0


@dataclass(frozen=True)
class Order:
    """A query for the process that this check kills, with its output topic and settings."""

    job: Job
    partitions: Mapping[str, int]
    number: int
    kafka: str
    topic: str
    sink: Mapping[str, str]
    checkpoint: Path
    interval_ms: int


class Ordered:
    """The query in its own process."""

    def __init__(self, order: Order, spark: SparkSession) -> None:
        """Store the order. The query does not start yet."""
        self.order, self.spark = order, spark

    def call(self, name: str) -> Any:
        """Call a method."""
        return getattr(self, name)()

    def run(self) -> None:
        """Start the query, and return when it runs in real-time mode."""
        own, path = self.order, self.order.checkpoint
        rows = rows_of(self.spark, own.kafka, own.job, max(own.partitions.values()), own.number)
        trial = Trial(self.spark, own.kafka, rows, own.partitions, path.parent, own.topic, own.sink)
        self.query = trial.start(path.name, own.interval_ms)

    def raise_if_failed(self) -> None:
        """Raise the query's error if the query has failed."""
        raise_if_failed([self.query])

    def commit(self) -> None:
        """End the query's batch, and wait for its commit. Without commands, the batch ends at its interval."""
        self.raise_if_failed()
        if control.obeys(self.query):
            control.commit(self.query)


def ordered_process(query: Query, slots: int) -> OtherProcess:
    """Start the process that this check kills. The caller must kill it, too."""
    trial, bench = query.trial, query.bench
    order = Order(
        job=query.recording.job,
        partitions=trial.partitions,
        number=query.number,
        kafka=bench.kafka,
        topic=trial.target,
        sink=trial.sink,
        checkpoint=trial.folder / CHECKPOINT,
        interval_ms=COMMANDED_INTERVAL_MS if control.source_format() == control.SOURCE else INTERVAL_MS,
    )
    return other_process(partial(_ordered, order), query.place.path, slots, bench.packages, bench.folder)


def _ordered(order: Order, spark: SparkSession, _folder: Path) -> Callable[..., Any]:
    return Ordered(order, spark).call


def restart(query: Query, process: OtherProcess) -> Verdict:
    """Kill the process after it has written uncommitted results, restart the query, and compare the results."""
    try:
        before, expected = _killed(query, process)
        again = _started_again(query) if before else []
    except QueryFailedError as error:
        return query.place.failed("restart", "the query does not restart", error)
    except (RuntimeError, TimeoutError) as error:
        return query.place.unchecked("restart", str(error).splitlines()[0], PAGE, RECORDS)
    if not before:
        return query.place.unchecked("restart", "no sample produced a result before the batch ended", PAGE, RECORDS)
    verdict = compared(before, again, expected)
    return verdict if verdict.status == GOOD else replace(verdict, path=str(query.place.path), line=query.place.line)


def compared(before: list[Received], again: list[Received], expected: int) -> Verdict:
    """Return the verdict on the results before the kill and after the restart. `expected` is 0 if unknown."""
    first, second = Counter(before), Counter(again)
    different = len(before) - sum((first & second).values())
    lost = max(0, (expected or len(before)) - len(again))
    counts = (
        f"killed during a batch and restarted on the same checkpoint: {lost} results lost, "
        f"{len(before)} uncommitted results written again"
    )
    is_repeated = bool(expected) and len(again) > expected
    if lost or is_repeated:
        more = f"; the uncommitted records have {expected} results, but the restart wrote {len(again)}"
        evidence = counts + more if is_repeated else counts
        return Verdict("restart", WRONG, evidence, "make the function deterministic", PAGE)
    if different:
        evidence = f"{counts}, {different} of them with different bytes, so a consumer cannot recognize duplicates"
        fix = "derive every result from its source record alone: no clock, no random values, no engine-generated ids"
        return Verdict("restart", WRONG, evidence, fix, PAGE)
    # Each record was sent twice, so a result that occurs more often comes from several records.
    is_unique = max(first.values()) <= 2
    how = "comparing whole records" if is_unique else "an id in the value, because different records have equal results"
    evidence = f"{counts}, byte for byte identical; a consumer can drop duplicates by {how}"
    return Verdict("restart", GOOD, evidence, page=PAGE)


def _killed(query: Query, process: OtherProcess) -> tuple[list[Received], int]:
    """Return the uncommitted results at the kill, and the result count expected after the restart (0 if unknown)."""
    trial = query.trial
    samples = _useful(query, query.samples.records)
    if not samples:
        return [], 0
    names = set(compared_texts(trial.rows).values())
    trial.forget()
    process.call("run")
    trial.send(samples, partition=PARTITION)
    for attempt in range(ATTEMPTS):
        # A stateful query may drop a duplicate sample, so each attempt also sends new records.
        records = samples + _useful(query, [renamed(sample, attempt, names) for sample in samples])
        expected = 0 if query.is_stateful else len(results_of(query, records))
        batch = _next_batch(query, process)
        trial.received()
        trial.send(records, partition=PARTITION)
        before = _written(query, process, expected)
        # The query may be processing these records when it is killed.
        trial.send(records, partition=PARTITION)
        if _position(query).batch_id == batch:
            process.kill()
            before += trial.received()
            return (before if _position(query).batch_id == batch else []), 2 * expected
    return [], 0


def _started_again(query: Query) -> list[Received]:
    running = query.trial.start(CHECKPOINT, AGAIN_INTERVAL_MS)
    try:
        query.trial.wait_for_commit(running)
    finally:
        query.trial.stop(running)
    return query.trial.received()


def _next_batch(query: Query, process: OtherProcess) -> int:
    """Commit all records, so that a new batch begins, and return the committed batch's id."""

    def is_committed() -> bool:
        position = _position(query)
        offsets = {topic: numbers for source in position.sources for topic, numbers in source.items()}
        return position.batch_id != NO_BATCH and query.trial.is_committed(offsets)

    def commits() -> bool:
        if not is_committed():
            process.call("commit")
        return is_committed()

    wait_until(commits, DEADLINE_SECONDS, "the query in its own process to commit a batch")
    return _position(query).batch_id


def _position(query: Query) -> Position:
    try:
        return committed_position(query.trial.folder / CHECKPOINT)
    except (OSError, ValueError):  # The checkpoint is new, or Spark is writing a file.
        return Position(NO_BATCH, ())


def _written(query: Query, process: OtherProcess, expected: int) -> list[Received]:
    written, quiet = list[Received](), 0

    def is_written() -> bool:
        nonlocal quiet
        process.call("raise_if_failed")
        found = query.trial.received()
        written.extend(found)
        quiet = 0 if found or not written else quiet + 1
        return len(written) >= expected if expected else quiet >= QUIET_POLLS

    wait_until(is_written, DEADLINE_SECONDS, "results during a batch")
    return written


def _useful(query: Query, records: list[Sent]) -> list[Sent]:
    """Return the records that do not make the query fail and, in a stateless query, produce a result."""
    return [
        record
        for record, found in evaluated(query, records)
        if isinstance(found, list) and (found or query.is_stateful) and all(o.topic is not None for o in found)
    ]


def renamed(sample: Sent, attempt: int, kept: set[str]) -> Sent:
    """Return a record with different strings and numbers, except times and strings that the query compares."""
    fields = fields_of(sample)
    if not fields:
        return sample
    changed = {name: _other(name, value, attempt, kept) for name, value in fields.items()}
    key = None if sample.key is None else sample.key + str(attempt).encode()
    return Sent(json.dumps(changed).encode(), key, sample.headers)


def _other(name: str, value: Any, attempt: int, kept: set[str]) -> Any:
    if is_time(name) or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if value in kept else f"{value}{attempt}"
    return value + attempt + 1 if isinstance(value, int) else value
