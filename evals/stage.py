"""Run answers to coding tasks on a shared broker and session, and explain wrong answers."""

import importlib
import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from evals.items import Task, Verdict
from spark_rtm.kafka.topics import REJECT_TOPIC, ensure_topics
from spark_rtm.prove.engine import Bench
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import QueryFailedError, wait_until
from spark_rtm.services.folders import new_folder
from spark_rtm.testing.records import Received, Sent
from spark_rtm.testing.run import Record, run_real_time
from spark_rtm.testing.trial import Trial, read_stream

Answer = Callable[..., Any]
DEADLINE_SECONDS = 30.0
REASON = "expected_reason"
"""The attribute that stores a known wrong answer's expected reason."""


class WrongAnswerError(AssertionError):
    """Raised with the reason if an answer does not solve its task."""


def wrong(reason: str) -> Callable[[Answer], Answer]:
    """Mark a known wrong answer, and store a pattern that the verifier's reason must match."""

    def marked(answer: Answer) -> Answer:
        setattr(answer, REASON, reason)
        return answer

    return marked


def session(bench: Bench, shuffle_partitions: int = 2) -> SparkSession:
    """Return a new session on the shared context, so a setting of one answer does not affect the next answer."""
    spark = bench.spark.newSession()
    spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")
    spark.conf.set("spark.sql.shuffle.partitions", shuffle_partitions)
    return spark


def outputs(
    bench: Bench,
    answer: Answer,
    records: Iterable[Record],
    *,
    tables: Mapping[str, Iterable[Record]] | None = None,
    partitions: int = 2,
    spark: SparkSession | None = None,
) -> list[Received]:
    """Run an answer on records, and return the output. Raise `WrongAnswerError` if its query fails."""
    run = run_real_time(
        answer,
        records,
        spark=spark or session(bench),
        bootstrap_servers=bench.kafka,
        tables=tables,
        partitions=partitions,
        deadline_seconds=DEADLINE_SECONDS,
    )
    if run.error:
        raise query_ended(run.error)
    return run.records


@contextmanager
def trial(bench: Bench, answer: Answer, *streams: str, partitions: int = 1) -> Iterator[Trial]:
    """Yield the trial of an answer with one stream per name, and clean up afterwards."""
    folder = new_folder("eval")
    topics = {stream: f"{folder.name}-{stream}" for stream in streams}
    ensure_topics(bench.kafka, topics.values(), partitions, dict.fromkeys(topics.values(), REJECT_TOPIC))
    spark = session(bench)
    rows: DataFrame = answer(*(read_stream(spark, bench.kafka, topic) for topic in topics.values()))
    found = Trial(spark, bench.kafka, rows, dict.fromkeys(topics.values(), partitions), folder)
    try:
        yield found
    except QueryFailedError as error:
        raise query_ended(error) from error
    finally:
        found.stop(*spark.streams.active)
        found.close(*topics.values())


def written_by(trial: Trial, query: StreamingQuery, records: Iterable[Sent]) -> list[Received]:
    """Send records, wait until the query has committed them, and return the query's new output."""
    trial.send(records)
    trial.wait_for_commit(query, DEADLINE_SECONDS)
    return trial.received()


def wait_until_read(query: StreamingQuery, count: int) -> None:
    """Wait until a real-time query has committed all `count` records of its source topic."""

    def is_read() -> bool:
        sources = query.lastProgress.sources if query.lastProgress else []
        topics = [topic for source in sources for topic in json.loads(source.endOffset).values()]
        return sum(int(offset) for topic in topics for offset in topic.values()) >= count

    try:
        assert_real_time(query)
        wait_until(is_read, DEADLINE_SECONDS, f"the commit of {count} records", [query])
    except QueryFailedError as error:
        raise query_ended(error) from error


def new_topics(kafka: str, count: int, partitions: int) -> list[str]:
    """Create topics, and return their names. The broker and its topics exist only during the run."""
    names = [f"eval-{uuid.uuid4().hex[:8]}" for _ in range(count)]
    ensure_topics(kafka, names, partitions)
    return names


def produce(kafka: str, topic: str, records: Iterable[Sent], partitions: int = 1) -> None:
    """Send records to the partitions in turn, and wait until the broker has stored the records."""
    with Producer({"bootstrap.servers": kafka, "linger.ms": 0}) as producer:
        for number, sent in enumerate(records):
            producer.produce(topic, sent.value, sent.key, number % partitions, headers=list(sent.headers))
        producer.flush(DEADLINE_SECONDS)


def query_ended(error: QueryFailedError) -> WrongAnswerError:
    """Return the verdict on an answer whose query failed."""
    first = str(error).partition("\n")[0]
    return WrongAnswerError(f"the query ended with {error.condition or 'an error'}: {first}")


def require(is_right: object, reason: str) -> None:
    """Raise `WrongAnswerError` with the reason if `is_right` is false."""
    if not is_right:
        raise WrongAnswerError(reason)


def require_same(expected: Iterable[Any], found: Iterable[Any], what: str) -> None:
    """Raise `WrongAnswerError` unless `expected` and `found` contain the same items with the same counts."""
    # `Counter` would read a mapping as counts.
    wanted, have = Counter(list(expected)), Counter(list(found))
    missing, more = wanted - have, have - wanted
    require(not missing, f"{missing.total()} missing {what}, such as {next(iter(missing), None)!r}")
    require(not more, f"{more.total()} surplus {what}, such as {next(iter(more), None)!r}")


def fields(record: Received) -> dict[str, Any]:
    """Return the JSON object in the value of an output record."""
    try:
        found = json.loads(record.value or b"")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise WrongAnswerError(f"the value {record.value!r} is not a JSON object")
    return found


def newest(records: Iterable[Received]) -> dict[str, dict[str, Any]]:
    """Return the fields of each key's newest record, as an upserting consumer would keep them."""
    return {(record.key or b"").decode(): fields(record) for record in records}


def module_of(task: str) -> ModuleType:
    """Return the module with the verifier and the known answers of a task."""
    return importlib.import_module(f"evals.coding_tasks.{task}")


def known_answers(task: str) -> list[tuple[Answer, str]]:
    """Return the right answer of a task, then its wrong answers, each with a pattern of the verifier's reason."""
    module = module_of(task)
    wrong = {answer: getattr(answer, REASON) for answer in vars(module).values() if hasattr(answer, REASON)}
    return [(module.right, ""), *wrong.items()]


def verify(bench: Bench, task: str, answer: Answer) -> Verdict:
    """Return the verdict of the task's verifier on an answer."""
    try:
        module_of(task).verify(bench, answer)
    except WrongAnswerError as error:
        return Verdict(task, is_right=False, reason=str(error))
    except Exception as error:  # noqa: BLE001 - an answer may raise anything
        first = str(error).strip().partition("\n")[0]
        return Verdict(task, is_right=False, reason=f"{type(error).__name__}: {first}")
    return Verdict(task, is_right=True)


def broken_tasks(bench: Bench, tasks: Iterable[Task], say: Callable[[str], None]) -> Iterator[str]:
    """Yield a message for each known answer with a wrong verdict or reason. Call `say` with each verdict."""
    for task in tasks:
        for answer, reason in known_answers(task.name):
            verdict = verify(bench, task.name, answer)
            name = f"{task.name}: {answer.__name__}"
            say(f"{name}: {verdict.reason or 'right'}")
            if verdict.is_right == bool(reason) or not re.search(reason, verdict.reason, re.DOTALL):
                expected = f"wrong, because {reason!r}" if reason else "right"
                yield f"{name} is {verdict.reason or 'right'}; expected {expected}"
