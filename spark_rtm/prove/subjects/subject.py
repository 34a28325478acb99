"""Build the subject of the checks: a target's streaming DataFrame, its trial, and its evaluation by row."""

import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, utils
from pyspark.sql import DataFrame

from spark_rtm.kafka.topics import REJECT_TOPIC, ensure_topics
from spark_rtm.prove.subjects.bench import Bench, in_time
from spark_rtm.prove.subjects.build import Origin, StaticQuery, caught_rows, local_rows, rows_of, topics_of
from spark_rtm.prove.subjects.recorders import Recording
from spark_rtm.prove.subjects.samples import compared_texts, made_samples, other_samples
from spark_rtm.prove.subjects.settings import sink_options
from spark_rtm.prove.subjects.target import Target, TargetError
from spark_rtm.prove.subjects.texts import adapted
from spark_rtm.realtime.slots import slots_needed
from spark_rtm.testing.records import Received, Sent
from spark_rtm.testing.trial import Trial, new_checkpoints

SIZE, DEFAULT_SIZE = "kafka.max.request.size", "1048576"
KEPT_BYTES = 1_000
EVALUATION_SECONDS = 120.0


@dataclass(frozen=True)
class Subject:
    """A query for the checks."""

    bench: Bench
    path: Path
    """The user's file."""
    line: int
    """Default line of a verdict."""
    stream: str
    """Name of the stream for `--samples`."""
    trial: Trial
    samples: list[Sent]
    rows_of: Callable[[list[Sent]], DataFrame]
    """Returns a batch query's rows for some records."""
    origin: Origin
    others: list[Sent] = field(default_factory=list)
    """Other records to try if generated samples produce no result; afterwards, the records that were tried first."""
    reads: tuple[str, ...] = ()
    """Topics that a job reads."""
    has_default_shuffles: bool = False
    """Whether a job uses the default of `spark.sql.shuffle.partitions`, which `prove` changes."""
    topics: set[str] = field(default_factory=set)
    """The topic in the sink's options, and the topics of evaluated rows."""
    is_made: bool = False
    """Whether `prove` made the samples."""
    is_accepted: bool = False
    """Whether a sample is known to produce a result that does not contain its bytes."""
    has_own_sink: bool = False
    """Whether the sink has the client options of a job."""

    @property
    def max_sink_bytes(self) -> int:
        """The size in bytes of the largest record that the sink's client sends."""
        return int(self.trial.sink.get(SIZE, DEFAULT_SIZE))

    @property
    def is_stateful(self) -> bool:
        """Whether the query has a shuffle, which in real-time mode only stateful operators and `repartition` have."""
        return slots_needed(self.trial.rows, 0) > 0

    def with_results(self) -> "Subject":
        """Return the subject with other samples if the generated ones produce no result or are all rejected."""
        if not self.others:
            return self
        own, accepted = self._useful(self.samples)
        if accepted:
            return replace(self, is_accepted=True)
        others, accepted = self._useful(self.others)
        found = accepted or ([] if own else others)
        if not found:
            return self
        return replace(self, samples=found[: len(self.samples)], others=self.samples, is_accepted=bool(accepted))

    def _useful(self, records: list[Sent]) -> tuple[list[Sent], list[Sent]]:
        """Return the records with a result, and among them those whose result does not contain their bytes."""
        results = [(r, found) for r, found in zip(records, self.evaluate_all(records), strict=True) if found]
        useful = [(record, found) for record, found in results if isinstance(found, list)]
        accepted = [record for record, found in useful if not any(holds(output, record) for output in found)]
        return [record for record, _ in useful], accepted

    def results_of(self, records: list[Sent]) -> list[tuple[Sent, Received]]:
        """Return each row of a batch query together with its record. Failing records have no rows."""
        evaluated = zip(records, self.evaluate_all(records), strict=True)
        return [(record, output) for record, found in evaluated if isinstance(found, list) for output in found]

    def evaluate_all(self, records: list[Sent]) -> list[list[Received] | Exception]:
        """
        Return each record's rows from a batch query, or the error of its expressions.

        A batch query has the same expressions, but a stream would end with the first error.
        Records are evaluated together if each produces exactly one row or none does, and otherwise in halves.
        """
        with _call_sites(enabled=False):
            return self._evaluate(records)

    def _evaluate(self, records: list[Sent]) -> list[list[Received] | Exception]:
        if not records:
            return []
        try:
            rows = self.rows_of(records)
            found = [_output(row.asDict()) for row in in_time(rows, rows.collect, EVALUATION_SECONDS)]
        except (PySparkException, Py4JJavaError) as error:
            if len(records) == 1:
                return [self._error_of(records[0]) or error]
        else:
            self.topics.update(output.topic for output in found if output.topic)
            if len(records) == 1:
                return [found]
            if not found:
                return [[] for _ in records]
            if len(found) == len(records):
                # Without a shuffle, the rows keep the order of the records.
                return [[output] for output in (found if slots_needed(rows, 0) == 0 else _paired(records, found))]
        half = len(records) // 2
        return [*self._evaluate(records[:half]), *self._evaluate(records[half:])]

    def _error_of(self, record: Sent) -> Exception | None:
        """Evaluate a failing record again, so that the error names the user's line."""
        with _call_sites(enabled=True):
            try:
                self.rows_of([record]).collect()
            except (PySparkException, Py4JJavaError) as error:
                return error
        return None


@contextmanager
def subject(bench: Bench, target: Target, samples: Mapping[str, list[Sent]], partitions: int) -> Iterator[Subject]:
    """Yield a target as a subject with its own topics, and delete topics and checkpoints afterwards."""
    prefix = f"prove-{uuid.uuid4().hex[:8]}"
    tables = {table: f"{prefix}-{table}" for table in target.tables}
    origin = Origin(target.text, {f"{prefix}-{target.stream}": partitions}, tables)
    topics = {*origin.partitions, *tables.values()}
    rows = _rows_of_function(bench, target, origin)
    if named := compared_texts(rows).get("topic"):
        # A function may reject rows of other topics than the one that it names.
        origin = Origin(target.text, {named: partitions}, tables)
        topics.add(named)
        rows = _rows_of_function(bench, target, origin)
    folder = new_checkpoints(bench.folder)
    trial = Trial(bench.spark, bench.kafka, rows, origin.partitions, folder)
    try:
        for table, topic in tables.items():
            trial.fill(topic, samples.get(table, []))
        static = {table: local_rows(bench.spark, samples.get(table, []), table) for table in target.tables}
        own, others = _records(rows, given := samples.get(target.stream, []))
        stream = next(iter(origin.partitions))

        def evaluate(records: list[Sent]) -> DataFrame:
            return target.transform(local_rows(bench.spark, records, stream), **static)

        yield Subject(
            bench, target.path, target.line, target.stream, trial, own, evaluate, origin, others, is_made=not given
        )
    finally:
        trial.close(*topics)
        shutil.rmtree(folder, ignore_errors=True)


def _rows_of_function(bench: Bench, target: Target, origin: Origin) -> DataFrame:
    topics = [*origin.partitions, *origin.tables.values()]
    ensure_topics(bench.kafka, topics, max(origin.partitions.values()), dict.fromkeys(topics, REJECT_TOPIC))
    rows = rows_of(bench.spark, bench.kafka, target, origin)
    if not isinstance(rows, DataFrame):
        raise TypeError(f"{target.name} returned {type(rows).__name__}; it must return a DataFrame of Kafka sink rows")
    return rows


@contextmanager
def subject_of_job(
    bench: Bench, recording: Recording, number: int, samples: Mapping[str, list[Sent]]
) -> Iterator[Subject]:
    """Yield one query of a job as a subject. Its topics stay, and rows for a sink other than Kafka become JSON."""
    folder, rows = new_checkpoints(bench.folder), caught_rows(recording, number)
    names = topics_of(rows) or recording.topics
    first, topics, caught = names[0], dict.fromkeys(names, recording.partitions), recording.caught[number]
    trial = Trial(bench.spark, bench.kafka, rows, topics, folder, sink=sink_options(caught))

    @cache
    def static_query() -> StaticQuery:
        # Errors of the rows must name the lines of the job.
        with _call_sites(enabled=True):
            try:
                return StaticQuery(recording, number)
            except Exception as error:
                line = recording.line_of(error)
                raise TargetError(
                    f"the job fails at line {line} when it runs again on static rows: {type(error).__name__}: {error}"
                ) from error

    try:
        trial.forget()
        own, others = _records(rows, given := samples.get(first, []))
        yield Subject(
            bench,
            recording.path,
            caught.line,
            first,
            trial,
            own,
            lambda records: static_query().rows_of(records),
            _origin(recording, topics, number),
            others,
            (*names, *recording.tables),
            recording.has_default_shuffles,
            {caught.options["topic"]} if "topic" in caught.options else set(),
            is_made=not given,
            has_own_sink=caught.sink.lower() == "kafka",
        )
    finally:
        trial.close()
        shutil.rmtree(folder, ignore_errors=True)


def _origin(recording: Recording, topics: Mapping[str, int], number: int) -> Origin:
    job, effects = recording.job, recording.side_effects
    return Origin(job.text, topics, {}, number, effects, job.arguments, job.confs, str(job.folder))


def _records(rows: DataFrame, given: list[Sent]) -> tuple[list[Sent], list[Sent]]:
    """Return the records to send, and alternatives if these produce no result."""
    if given:
        return given, []
    return adapted(rows, made_samples(rows)), adapted(rows, other_samples(rows))


def has_null_topic(outputs: list[Received]) -> bool:
    """Return whether a row has a null topic, which would make the query fail."""
    return any(output.topic is None for output in outputs)


@contextmanager
def _call_sites(*, enabled: bool) -> Iterator[None]:
    """Turn PySpark's recording of call lines on or off. The recording takes most of the time for building a plan."""
    # PySpark reads the setting `spark.python.sql.dataFrameDebugging.enabled` only once, and keeps it in this variable.
    before = utils._enable_debugging_cache  # noqa: SLF001
    utils._enable_debugging_cache = enabled  # type: ignore[assignment]  # noqa: SLF001
    try:
        yield
    finally:
        utils._enable_debugging_cache = before  # noqa: SLF001


def _paired(records: list[Sent], outputs: list[Received]) -> list[Received]:
    """Return the outputs in the order of the records whose bytes they contain, then all other outputs."""
    remaining, places = list(outputs), dict[int, Received]()
    # Equal bytes are a certain match. Then long values are paired first, because many outputs contain short ones.
    by_length = sorted(range(len(records)), key=lambda number: -len(records[number].value or b""))
    for is_match in (_equals, holds):
        for number in (number for number in by_length if number not in places):
            match = next((output for output in remaining if is_match(output, records[number])), None)
            if match:
                places[number] = match
                remaining.remove(match)
    return [places[number] if number in places else remaining.pop() for number in range(len(records))]


def _equals(output: Received, record: Sent) -> bool:
    return output.value == record.value


def holds(output: Received, record: Sent) -> bool:
    """Return whether an output contains a record's bytes, or the beginning that a reject topic keeps."""
    value = (record.value or b"")[:KEPT_BYTES]
    return value in (output.value or b"") and (record.value is not None or output.value is None)


def _output(row: dict[str, object]) -> Received:
    headers = row.get("headers") or ()
    kept = tuple((str(h["key"]), _binary(h["value"])) for h in headers)  # type: ignore[attr-defined]
    topic = row.get("topic") if "topic" in row else ""
    return Received(topic, _binary(row.get("key")), _binary(row["value"]), kept, 0)  # type: ignore[arg-type]


def _binary(value: object) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[call-overload]
