"""Build a query of a job for the checks: its streaming DataFrame, its trial, its samples and its evaluation."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property

from pyspark.sql import DataFrame

from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.prove.engine.bench import Bench
from spark_rtm.prove.job import runner
from spark_rtm.prove.job.recorders import Recording
from spark_rtm.prove.job.settings import sink_options
from spark_rtm.prove.job.target import TargetError, subscribed
from spark_rtm.prove.records.parseable_strings import adapted
from spark_rtm.prove.records.samples import made_samples, other_samples
from spark_rtm.prove.verdicts.failure import Place
from spark_rtm.realtime.slots import slots_needed
from spark_rtm.testing.records import Sent
from spark_rtm.testing.trial import ANY_SIZE, Trial, new_checkpoints, read_table

SIZE, DEFAULT_SIZE = "kafka.max.request.size", "1048576"


@dataclass(frozen=True)
class Samples:
    """The good records of a query."""

    records: list[Sent]
    others: list[Sent]
    """Records to try if generated records produce no result, or the generated records that these records replaced."""
    is_made: bool
    is_accepted: bool = False
    """Whether a record is known to produce a result that does not contain its bytes."""


@dataclass(frozen=True)
class Query:
    """A query of a job."""

    bench: Bench
    recording: Recording
    number: int
    place: Place
    trial: Trial
    rows_of: Callable[[list[Sent]], DataFrame]
    """Returns the rows of a batch query for some records."""
    samples: Samples
    topics: set[str] = field(default_factory=set)
    """The topic in the sink's options, and the topics of evaluated rows."""

    @property
    def has_own_sink(self) -> bool:
        """Whether the job writes to Kafka itself. A function only returns rows."""
        return self.recording.caught[self.number].is_to_kafka and not self.recording.job.function

    @property
    def reads(self) -> tuple[str, ...]:
        """The topics that the job names. The topics of a function are those of `prove`."""
        return () if self.recording.job.function else (*self.trial.partitions, *self.recording.tables)

    @property
    def max_sink_bytes(self) -> int:
        """The size in bytes of the largest record that the sink's client sends."""
        return int(self.trial.sink.get(SIZE, DEFAULT_SIZE))

    @cached_property
    def is_stateful(self) -> bool:
        """Whether the query has a shuffle, which in real-time mode only stateful operators and `repartition` have."""
        return slots_needed(self.trial.rows, 0) > 0


@contextmanager
def query_of_job(bench: Bench, recording: Recording, number: int, samples: Mapping[str, list[Sent]]) -> Iterator[Query]:
    """Yield a query of a job. Rows for a sink other than Kafka become JSON."""
    rows, caught, job = recording.caught[number].rows, recording.caught[number], recording.job
    names = topics_of(rows) or recording.topics
    sink, partitions = sink_options(caught), dict.fromkeys(names, recording.partitions)
    trial = Trial(bench.spark, bench.kafka, rows, partitions, new_checkpoints(bench.folder), sink=sink)
    stream = job.parameter_of(names[0])
    topics = {caught.options["topic"]} if "topic" in caught.options else set[str]()
    try:
        trial.forget()
        for table in recording.tables:
            trial.fill(table, samples.get(job.parameter_of(table), []))
        rows_of = _evaluation(trial, recording, number)
        place = Place(job.path, caught.line, stream)
        yield Query(bench, recording, number, place, trial, rows_of, _samples(rows, samples.get(stream, [])), topics)
    finally:
        trial.close()


def _evaluation(trial: Trial, recording: Recording, number: int) -> Callable[[list[Sent]], DataFrame]:
    """Return a function of records. It sends them to a topic, and returns the rows of a batch query on the topic."""
    topic = f"prove-rows-of-{recording.topics[0]}"
    ensure_topics(trial.bootstrap_servers, [topic], 1, {topic: ANY_SIZE})
    query = cache(lambda: _on_static(recording, number, topic))

    def rows_of(records: list[Sent]) -> DataFrame:
        rows = query()
        trial.replace(topic, records)
        # Spark reads the topic again for each query on the same plan.
        return rows.select("*")

    return rows_of


def _on_static(recording: Recording, number: int, topic: str) -> DataFrame:
    """Return the rows of a query of a job for the records of a topic. The job runs once for all of its queries."""
    try:
        if recording.on_static is None:
            rows = read_table(recording.spark, recording.kafka, topic)
            again = Recording(recording.spark, recording.kafka, recording.job, recording.partitions, static=rows)
            runner.record(again)
            recording.on_static = again
        return recording.on_static.caught[number].rows
    except Exception as error:
        line = recording.line_of(error)
        raise TargetError(
            f"the job fails at line {line} when it runs again on static rows: {type(error).__name__}: {error}"
        ) from error


def _samples(rows: DataFrame, given: list[Sent]) -> Samples:
    if given:
        return Samples(given, [], is_made=False)
    return Samples(adapted(rows, made_samples(rows)), adapted(rows, other_samples(rows)), is_made=True)


def topics_of(rows: DataFrame) -> list[str]:
    """Return the Kafka topics of the streams that a DataFrame reads."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - PySpark has no plan
    found = list[str]()
    for leaf in map(leaves.apply, range(leaves.size())):
        if leaf.getClass().getSimpleName() == "StreamingRelationV2":
            options = {key: leaf.extraOptions().get(key) for key in ("subscribe", "subscribePattern", "assign")}
            found += subscribed({key: value for key, value in options.items() if value})[0]
    return list(dict.fromkeys(found))
