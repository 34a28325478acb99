"""Build the subject of the checks: a target's streaming DataFrame, its trial, and its evaluation by row."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_rtm.kafka.topics import REJECT_TOPIC, ensure_topics
from spark_rtm.prove.engine.bench import Bench, in_time
from spark_rtm.prove.job import runner
from spark_rtm.prove.job.build import caught_rows, rows_of, tables_of, topics_of
from spark_rtm.prove.job.recorders import Recording
from spark_rtm.prove.job.settings import sink_options
from spark_rtm.prove.job.target import Job, Target, TargetError
from spark_rtm.prove.records.parseable_strings import adapted
from spark_rtm.prove.records.samples import compared_texts, made_samples, other_samples
from spark_rtm.prove.verdicts.failure import failed, line_of_call
from spark_rtm.prove.verdicts.verdict import UNCHECKED, WRONG, Verdict
from spark_rtm.realtime.slots import slots_needed
from spark_rtm.testing.records import Received, Sent
from spark_rtm.testing.trial import ANY_SIZE, Trial, new_checkpoints, read_table

SIZE, DEFAULT_SIZE = "kafka.max.request.size", "1048576"
KEPT_BYTES = 1_000
EVALUATION_SECONDS = 120.0


@dataclass(frozen=True)
class Subject:
    """A query for the checks: a function, or one query of a job."""

    bench: Bench
    target: Target | Job
    line: int
    stream: str
    """Name of the stream for `--samples`."""
    trial: Trial
    samples: list[Sent]
    others: list[Sent]
    """Records to try if generated samples produce no result, or the generated samples that these records replaced."""
    rows_of: Callable[[list[Sent]], DataFrame]
    is_made: bool
    tables: Mapping[str, str] = field(default_factory=dict)
    number: int = 0
    reads: tuple[str, ...] = ()
    shuffles: str = ""
    """Number of shuffle partitions that a job would get. Its queries run with the number of `prove`."""
    has_own_shuffles: bool = True
    topics: set[str] = field(default_factory=set)
    """The topic in the sink's options, and the topics of evaluated rows."""
    is_accepted: bool = False
    """Whether a sample is known to produce a result that does not contain its bytes."""
    has_own_sink: bool = False

    @property
    def path(self) -> Path:
        """The user's file."""
        return self.target.path

    @property
    def max_sink_bytes(self) -> int:
        """The size in bytes of the largest record that the sink's client sends."""
        return int(self.trial.sink.get(SIZE, DEFAULT_SIZE))

    @property
    def is_stateful(self) -> bool:
        """Whether the query has a shuffle, which in real-time mode only stateful operators and `repartition` have."""
        return slots_needed(self.trial.rows, 0) > 0

    def wrong(self, check: str, evidence: str, fix: str, page: str = "", calls: str = "") -> Verdict:
        """Return a bad verdict at the line that matches the pattern `calls`, or at the default line."""
        line = line_of_call(self.path, calls, self.line) if calls else self.line
        return Verdict(check, WRONG, evidence, fix, page, str(self.path), line)

    def failed(self, check: str, problem: str, error: Exception) -> Verdict:
        """Return the verdict on an exception of the query."""
        return failed(check, problem, error, self.path, self.line)

    def unchecked(self, check: str, evidence: str, page: str, records: str = "records") -> Verdict:
        """Return a verdict that asks for samples. `records` describes them."""
        fix = f"pass {records} with --samples {self.stream}=FILE.jsonl"
        return Verdict(check, UNCHECKED, evidence, fix, page)

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
        useful = [(r, found) for r, found in self.evaluated(records) if found and isinstance(found, list)]
        accepted = [record for record, found in useful if not any(holds(output, record) for output in found)]
        return [record for record, _ in useful], accepted

    def results_of(self, records: list[Sent]) -> list[tuple[Sent, Received]]:
        """Return each row of a batch query together with its record. Failing records have no rows."""
        evaluated = self.evaluated(records)
        return [(record, output) for record, found in evaluated if isinstance(found, list) for output in found]

    def evaluated(self, records: list[Sent]) -> list[tuple[Sent, list[Received] | Exception]]:
        """
        Return each record with its rows from a batch query, or with the error of its expressions.

        A batch query has the same expressions, but a stream would end with the first error.
        Records are evaluated together if each produces exactly one row or none does, and otherwise in halves.
        """
        return list(zip(records, self._evaluate(records), strict=True))

    def _evaluate(self, records: list[Sent]) -> list[list[Received] | Exception]:
        if not records:
            return []
        try:
            rows = self.rows_of(records)
            found = [_output(row.asDict()) for row in in_time(rows, rows.collect, EVALUATION_SECONDS)]
        except (PySparkException, Py4JJavaError) as error:
            if len(records) == 1:
                return [error]
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


@contextmanager
def subject(bench: Bench, target: Target, samples: Mapping[str, list[Sent]], partitions: int) -> Iterator[Subject]:
    """Yield a function as a subject with its own topics, and delete the topics afterwards."""
    prefix = f"prove-{uuid.uuid4().hex[:8]}"
    tables, stream = {table: f"{prefix}-{table}" for table in target.tables}, f"{prefix}-{target.stream}"
    topics = {stream, *tables.values()}
    rows = _rows_of_function(bench, target, {stream: partitions}, tables)
    if named := compared_texts(rows).get("topic"):
        # A function may reject rows of other topics than the one that it names.
        stream = named
        topics.add(named)
        rows = _rows_of_function(bench, target, {stream: partitions}, tables)
    trial = Trial(bench.spark, bench.kafka, rows, {stream: partitions}, new_checkpoints(bench.folder))
    # Unlike a parameter's name, this name contains `-`.
    static = f"{prefix}-static-rows"
    topics.add(static)

    def on_static() -> DataFrame:
        records = read_table(bench.spark, bench.kafka, static).withColumn("topic", F.lit(stream))
        return target.transform(records, **tables_of(bench.spark, bench.kafka, tables))

    evaluate = _evaluation(trial, static, on_static)
    try:
        for table, topic in tables.items():
            trial.fill(topic, samples.get(table, []))
        own, others, is_made = _records(rows, samples.get(target.stream, []))
        yield Subject(bench, target, target.line, target.stream, trial, own, others, evaluate, is_made, tables)
    finally:
        trial.close(*topics)


def _rows_of_function(
    bench: Bench, target: Target, partitions: Mapping[str, int], tables: Mapping[str, str]
) -> DataFrame:
    topics = [*partitions, *tables.values()]
    ensure_topics(bench.kafka, topics, max(partitions.values()), dict.fromkeys(topics, REJECT_TOPIC))
    rows = rows_of(bench.spark, bench.kafka, target, partitions, tables)
    if not isinstance(rows, DataFrame):
        raise TypeError(f"{target.name} returned {type(rows).__name__}; it must return a DataFrame of Kafka sink rows")
    return rows


@contextmanager
def subject_of_job(
    bench: Bench, recording: Recording, number: int, samples: Mapping[str, list[Sent]]
) -> Iterator[Subject]:
    """Yield one query of a job as a subject. Its topics are kept, and rows for a sink other than Kafka become JSON."""
    rows, caught = caught_rows(recording, number), recording.caught[number]
    names = topics_of(rows) or recording.topics
    partitions, sink = dict.fromkeys(names, recording.partitions), sink_options(caught)
    trial = Trial(bench.spark, bench.kafka, rows, partitions, new_checkpoints(bench.folder), sink=sink)
    static = f"prove-rows-of-{recording.topics[0]}"
    try:
        trial.forget()
        own, others, is_made = _records(rows, samples.get(names[0], []))
        yield Subject(
            bench,
            recording.job,
            caught.line,
            names[0],
            trial,
            own,
            others,
            _evaluation(trial, static, lambda: _on_static(recording, number, static)),
            is_made,
            number=number,
            reads=(*names, *recording.tables),
            shuffles=recording.shuffles,
            has_own_shuffles=recording.has_own_shuffles,
            topics={caught.options["topic"]} if "topic" in caught.options else set(),
            has_own_sink=caught.is_to_kafka,
        )
    finally:
        trial.close()


def _evaluation(trial: Trial, topic: str, build: Callable[[], DataFrame]) -> Callable[[list[Sent]], DataFrame]:
    """Return a function of records. It sends them to a topic, and returns the rows of a batch query on the topic."""
    ensure_topics(trial.bootstrap_servers, [topic], 1, {topic: ANY_SIZE})
    query = cache(build)

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
        return caught_rows(recording.on_static, number)
    except Exception as error:
        line = recording.line_of(error)
        raise TargetError(
            f"the job fails at line {line} when it runs again on static rows: {type(error).__name__}: {error}"
        ) from error


def _records(rows: DataFrame, given: list[Sent]) -> tuple[list[Sent], list[Sent], bool]:
    """Return the records to send, alternatives if these produce no result, and whether `prove` made them."""
    if given:
        return given, [], False
    return adapted(rows, made_samples(rows)), adapted(rows, other_samples(rows)), True


def _paired(records: list[Sent], outputs: list[Received]) -> list[Received]:
    """Return the outputs in the order of the records whose bytes they contain, then all other outputs."""
    remaining, places = list(outputs), dict[int, Received]()
    # Equal bytes are a certain match. Then long values are paired first, because many outputs contain short ones.
    by_length = sorted(range(len(records)), key=lambda number: -len(records[number].value or b""))
    for is_match in (lambda output, record: output.value == record.value, holds):
        for number in (number for number in by_length if number not in places):
            match = next((output for output in remaining if is_match(output, records[number])), None)
            if match:
                places[number] = match
                remaining.remove(match)
    return [places[number] if number in places else remaining.pop() for number in range(len(records))]


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
