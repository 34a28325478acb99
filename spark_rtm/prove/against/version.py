"""Run one version of a job: its query on its own checkpoints, in this process or in a process that can be killed."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.prove.against.compare import Facts, facts_of
from spark_rtm.prove.against.schedule import Batch
from spark_rtm.prove.engine import Bench, in_time
from spark_rtm.prove.job import runner
from spark_rtm.prove.job.recorders import Recording
from spark_rtm.prove.job.target import Job
from spark_rtm.prove.query import EVALUATION_SECONDS, Query, query_of_job
from spark_rtm.prove.records.decoding import decoding
from spark_rtm.prove.records.hostile import hostile_records
from spark_rtm.prove.records.samples import varied
from spark_rtm.prove.run import stopped
from spark_rtm.realtime import control
from spark_rtm.realtime.queries import QueryFailedError, raise_if_failed
from spark_rtm.testing.records import Sent

# No batch ends by itself: commands end the batches at the borders of the schedule.
INTERVAL_MS = 3_600_000
COMMIT_SECONDS = 120.0
MAX_HOSTILE_BYTES = 10_000
# A time in the year 9999 would put all later records behind the watermark.
FAR = "the latest time"
FAILURES = (PySparkException, Py4JJavaError, QueryFailedError, RuntimeError, TimeoutError, TypeError, ValueError)


def is_short(record: Sent) -> bool:
    """Return whether a hostile record is short enough to be sent in each run."""
    return len(record.value or b"") <= MAX_HOSTILE_BYTES


class VersionError(RuntimeError):
    """Raised if the query of a version fails, with the engine's message."""


@dataclass(frozen=True)
class Listed:
    """A query of a job."""

    line: int
    name: str
    trigger: str
    is_real_time: bool
    target: str


@dataclass
class Version:
    """A job with its recorded queries, one of which is compared."""

    bench: Bench
    job: Job
    is_new: bool
    partitions: int = 2

    def __post_init__(self) -> None:
        """Prepare the recording of the job's queries, without running the job."""
        self._recording = Recording(self.bench.spark.newSession(), self.bench.kafka, self.job, self.partitions)
        self._stack = contextlib.ExitStack()
        self._query: Query
        self._running: StreamingQuery | None = None
        self._checkpoint = ""

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method. Raise `VersionError` if the query fails."""
        try:
            return getattr(self, name)(*arguments)
        except runner.JobLostError:
            raise
        except FAILURES as error:
            cause = error.__cause__ if isinstance(error, QueryFailedError) and error.__cause__ else error
            raise VersionError(str(cause)) from error

    def record(self) -> list[Listed]:
        """Run the job, and return its queries."""
        own = self._recording
        try:
            runner.record(own)
        except runner.JobLostError:
            raise
        except Exception as error:
            raise runner.JobLostError(stopped(error, own)) from error
        if own.other_sources:
            kind, line = own.other_sources[0]
            raise runner.JobLostError(
                f"{own.path}:{line}: the job reads the source {kind!r}, to which prove cannot send records; "
                "use a job that reads only Kafka"
            )
        return [
            Listed(
                one.line, one.options.get("queryName", ""), one.trigger, one.is_real_time, one.options.get("topic", "")
            )
            for one in own.caught
        ]  # fmt: skip

    def choose(self, number: int, samples: Mapping[str, list[Sent]]) -> Facts:
        """Prepare query `number` of the job, and return the facts about this query."""
        own = self._recording
        if unknown := samples.keys() - {*own.topics, *own.tables}:
            known = ", ".join([*own.topics, *own.tables])
            raise ValueError(f"--samples {min(unknown)}: the job does not read this topic or table; it reads {known}")
        self._stack.close()
        # Only one version may fill the tables that both read.
        given = samples if self.is_new else {}
        self._query = self._stack.enter_context(query_of_job(self.bench, self._recording, number, given))
        if self.is_new:
            self._query.trial.use_producer_times()
        trial = self._query.trial
        return facts_of(trial.rows, self._recording.caught[number], trial.target)

    def records(self, given: Sequence[Sent]) -> tuple[list[Sent], list[Sent]]:
        """Return good records (`given`, or else generated records), and hostile records."""
        own = self._query.samples
        good = list(given) or [*own.records, *map(varied, own.records), *own.others]
        kinds = hostile_records(good[0], decoding(self._query.trial.rows))
        records = (one.record for name, one in kinds.items() if FAR not in name)
        return good, [*filter(is_short, records)]

    def ending(self, records: Sequence[Sent]) -> dict[int, str]:
        """Return the engine's message for each record that makes the query fail, by the record's position."""
        found = dict[int, str]()

        def search(numbers: Sequence[int]) -> None:
            rows = self._query.rows_of([records[number] for number in numbers])
            try:
                in_time(rows, rows.write.format("noop").mode("overwrite").save, EVALUATION_SECONDS)
            except (PySparkException, Py4JJavaError) as error:
                if len(numbers) == 1:
                    found[numbers[0]] = str(error)
                    return
                middle = len(numbers) // 2
                search(numbers[:middle])
                search(numbers[middle:])

        search(range(len(records)))
        return found

    def send(self, batch: Batch) -> dict[tuple[str, int], int]:
        """Send the records of a batch, and return the end offset of each partition that has received records."""
        trial = self._query.trial
        for one in batch.inputs:
            trial.send([one.record], batch.topic, batch.partition, time_ms=one.time_ms)
        return dict(trial.ends)

    def forget(self) -> None:
        """Delete all records of the source topics."""
        self._query.trial.forget()

    def start(self, checkpoint: str) -> None:
        """Start the query in real-time mode. A micro-batch query is started by each `commit`."""
        # Each version has its own checkpoint, in a folder that survives its process.
        self._checkpoint = f"{checkpoint}-{'new' if self.is_new else 'old'}"
        if self.is_new:
            self._running = self._query.trial.start(self._checkpoint, INTERVAL_MS)

    def commit(self, ends: Mapping[tuple[str, int], int]) -> None:
        """Process and commit all sent records."""
        trial = self._query.trial
        if self._running:
            trial.ends = dict(ends)
            trial.wait_for_commit(self._running, COMMIT_SECONDS)
            if self._query.is_stateful:
                # As in micro-batch mode, the next records meet the watermark of these records.
                control.commit(self._running, COMMIT_SECONDS)
            return
        caught = self._recording.caught[self._query.number]
        query = trial.writer(self._checkpoint, caught.output_mode).trigger(availableNow=True).start()
        try:
            if not query.awaitTermination(round(COMMIT_SECONDS)):
                raise TimeoutError(f"the micro-batch query did not process a batch within {COMMIT_SECONDS:g} s")
            raise_if_failed([query])
        finally:
            query.stop()

    def stop(self) -> None:
        """Stop the query if it runs."""
        if self._running:
            self._query.trial.stop(self._running)
        self._running = None

    def kill(self) -> None:
        """Stop the query, and delete its topic."""
        self.stop()
        self._stack.close()
