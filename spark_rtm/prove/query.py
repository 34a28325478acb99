"""Build a job's query for the checks, with its trial and samples, and evaluate records in a batch query."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.prove.engine import Bench, in_time
from spark_rtm.prove.job import runner
from spark_rtm.prove.job.recorders import Recording
from spark_rtm.prove.job.settings import sink_options
from spark_rtm.prove.job.target import TargetError, subscribed
from spark_rtm.prove.records.parseable_strings import adapted
from spark_rtm.prove.records.samples import made_samples, other_samples
from spark_rtm.prove.verdicts import Place
from spark_rtm.realtime.slots import slots_needed
from spark_rtm.testing.records import Received, Sent
from spark_rtm.testing.trial import ANY_SIZE, Trial, new_checkpoints, read_table

EVALUATION_SECONDS = 120.0
MAX_TEXT = 80
KEPT_BYTES = 1_000
"""Number of leading bytes by which the checks recognize a record's value in a reject topic."""

Result = list[Received] | Exception
"""A record's output rows, or the error from the query's expressions."""
SIZE, DEFAULT_SIZE = "kafka.max.request.size", "1048576"


@dataclass(frozen=True)
class Samples:
    """The good sample records for a query."""

    records: list[Sent]
    others: list[Sent]
    """Alternative records, to try if the generated records produce no result. After a swap, the replaced records."""
    is_made: bool
    is_accepted: bool = False
    """Whether some record is known to produce a result that does not contain the record's bytes."""


@dataclass(frozen=True)
class Query:
    """One of a job's queries, prepared for the checks."""

    bench: Bench
    recording: Recording
    number: int
    place: Place
    trial: Trial
    rows_of: Callable[[list[Sent]], DataFrame]
    """Function that returns a batch query's rows for some records."""
    samples: Samples
    topics: set[str] = field(default_factory=set)
    """Target topics: the topic in the sink's options, and the topics of evaluated rows."""

    @property
    def has_own_sink(self) -> bool:
        """Whether the job itself writes to Kafka. A function only returns rows."""
        return self.recording.caught[self.number].is_to_kafka and not self.recording.job.function

    @property
    def reads(self) -> tuple[str, ...]:
        """The topics that the job specifies (none for a function, whose topics `rtm prove` chooses)."""
        return () if self.recording.job.function else (*self.trial.partitions, *self.recording.tables)

    @property
    def max_sink_bytes(self) -> int:
        """The maximum record size in bytes that the sink's client sends."""
        return int(self.trial.sink.get(SIZE, DEFAULT_SIZE))

    @cached_property
    def is_stateful(self) -> bool:
        """Whether the query has a shuffle, which in real-time mode only stateful operators and `repartition` cause."""
        return slots_needed(self.trial.rows, 0) > 0


@contextmanager
def query_of_job(bench: Bench, recording: Recording, number: int, samples: Mapping[str, list[Sent]]) -> Iterator[Query]:
    """Yield one of a job's queries. Rows for sinks other than Kafka become JSON."""
    rows, caught, job = recording.caught[number].rows, recording.caught[number], recording.job
    names = topics_of(rows) or recording.topics
    sink, partitions = sink_options(caught), dict.fromkeys(names, recording.partitions)
    trial = Trial(bench.spark, bench.kafka, rows, partitions, new_checkpoints(bench.folder), sink=sink)
    stream = job.parameter_of(names[0])
    topics = {caught.options["topic"]} if "topic" in caught.options else set[str]()
    try:
        for table in recording.tables:
            trial.fill(table, samples.get(job.parameter_of(table), []))
        rows_of = _evaluation(trial, recording, number)
        place = Place(job.path, caught.line, stream)
        yield Query(bench, recording, number, place, trial, rows_of, _samples(rows, samples.get(stream, [])), topics)
    finally:
        trial.close()


def _evaluation(trial: Trial, recording: Recording, number: int) -> Callable[[list[Sent]], DataFrame]:
    """Return a function that sends records to a topic and returns the rows of a batch query on this topic."""
    # Both versions of a job may evaluate records at the same time.
    topic = f"{trial.target}-rows-of-{recording.topics[0]}"
    ensure_topics(trial.bootstrap_servers, [topic], 1, {topic: ANY_SIZE})
    query = cache(lambda: _on_static(recording, number, topic))

    def rows_of(records: list[Sent]) -> DataFrame:
        rows = query()
        trial.replace(topic, records)
        # A new DataFrame is needed, because Spark reads the topic again only for a new plan.
        return rows.select("*")

    return rows_of


def _on_static(recording: Recording, number: int, topic: str) -> DataFrame:
    """Return the rows of a job's query for a topic's records. The job runs once for all of its queries."""
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
    """Return the Kafka topics from which a DataFrame streams."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - PySpark has no plan
    found = list[str]()
    for leaf in map(leaves.apply, range(leaves.size())):
        if leaf.getClass().getSimpleName() == "StreamingRelationV2":
            options = {key: leaf.extraOptions().get(key) for key in ("subscribe", "subscribePattern", "assign")}
            found += subscribed({key: value for key, value in options.items() if value})[0]
    return list(dict.fromkeys(found))


def evaluated(query: Query, records: list[Sent]) -> list[tuple[Sent, Result]]:
    """
    Return each record with its result.

    Records are evaluated together if each record produces exactly one row or no record produces rows, otherwise in
    parts.
    """
    return list(zip(records, _results(query, records) if records else (), strict=True))


def results_of(query: Query, records: list[Sent]) -> list[tuple[Sent, Received]]:
    """Return each row together with its record. Records that make the query fail have no rows."""
    found = evaluated(query, records)
    return [(record, output) for record, result in found if isinstance(result, list) for output in result]


def failing(query: Query) -> str:
    """Return the beginning of the first sample that makes the query fail, or an empty string if there is none."""
    failed = (record for record, result in evaluated(query, query.samples.records) if isinstance(result, Exception))
    return next(((record.value or b"null").decode(errors="replace")[:MAX_TEXT] for record in failed), "")


def with_results(query: Query) -> Query:
    """Return the query with alternative samples if the generated samples produce no result or are all rejected."""
    own = query.samples
    if not own.others:
        return query
    useful, accepted = _useful(query, own.records)
    if accepted:
        return replace(query, samples=replace(own, is_accepted=True))
    others, accepted = _useful(query, own.others)
    found = accepted or ([] if useful else others)
    if not found:
        return query
    samples = replace(own, records=found[: len(own.records)], others=own.records, is_accepted=bool(accepted))
    return replace(query, samples=samples)


def holds(output: Received, record: Sent) -> bool:
    """Return whether an output contains a record's bytes, or the beginning of the value that a reject topic keeps."""
    value = (record.value or b"")[:KEPT_BYTES]
    return value in (output.value or b"") and (record.value is not None or output.value is None)


def _useful(query: Query, records: list[Sent]) -> tuple[list[Sent], list[Sent]]:
    """Return the records with a result, and the subset whose result does not contain the record's bytes."""
    useful = [(record, found) for record, found in evaluated(query, records) if found and isinstance(found, list)]
    accepted = [record for record, found in useful if not any(holds(output, record) for output in found)]
    return [record for record, _ in useful], accepted


def _results(query: Query, records: list[Sent]) -> list[Result]:
    size = max(1, len(records) // 2)
    try:
        rows = query.rows_of(records)
        found = [_output(row.asDict()) for row in in_time(rows, rows.collect, EVALUATION_SECONDS)]
    except (PySparkException, Py4JJavaError) as error:
        if len(records) == 1:
            return [error]
    else:
        query.topics.update(output.topic for output in found if output.topic)
        if len(records) == 1:
            return [found]
        if not found:
            return [[] for _ in records]
        if len(found) == len(records):
            # Without a shuffle, the rows are in record order.
            return [[output] for output in (_paired(records, found) if query.is_stateful else found)]
        # State would also merge the records within a half, so evaluate each record alone.
        size = 1 if query.is_stateful else size
    parts = (records[start : start + size] for start in range(0, len(records), size))
    return [result for part in parts for result in _results(query, part)]


def _paired(records: list[Sent], outputs: list[Received]) -> list[Received]:
    """Return an output for each record: an output that contains the record's bytes, or else any remaining output."""
    remaining, places = list(outputs), dict[int, Received]()
    # Long values are paired first, because many outputs contain short values.
    for number in sorted(range(len(records)), key=lambda number: -len(records[number].value or b"")):
        if match := next((output for output in remaining if holds(output, records[number])), None):
            places[number] = match
            remaining.remove(match)
    return [places[number] if number in places else remaining.pop() for number in range(len(records))]


def _output(row: dict[str, object]) -> Received:
    headers = row.get("headers") or ()
    kept = tuple((str(h["key"]), _binary(h["value"])) for h in headers)  # type: ignore[attr-defined]
    topic = row.get("topic") if "topic" in row else ""
    return Received(topic, _binary(row.get("key")), _binary(row["value"]), kept, 0)  # type: ignore[arg-type]


def _binary(value: object) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[call-overload]
