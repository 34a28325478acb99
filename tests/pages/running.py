"""
Run a code block of a page and check that it does what its options declare.

Each started query must show its execution mode in its plan and write at least one record to a topic. A query with
`foreach` must commit at least one record instead.
"""

import contextlib
import functools
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pytest_examples import EvalExample

from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.failures import name_of
from spark_rtm.realtime.keeper import GaveUpError
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import QueryFailedError, wait_until
from tests.helpers import eventually
from tests.pages.examples import Example
from tests.pages.samples import ALL_TOPICS, PARTITIONS, SOURCES, feed

DEADLINE_SECONDS = 90.0


@dataclass(frozen=True)
class PageEnvironment:
    """The environment of code blocks: a session, a broker, a folder for checkpoints, and the time for a first row."""

    spark: SparkSession
    kafka: str
    folder: Path
    output_seconds: float = DEADLINE_SECONDS


def check_example(example: Example, runner: EvalExample, environment: PageEnvironment) -> None:
    shutil.rmtree(environment.folder / "checkpoints", ignore_errors=True)
    if expected := example.fence.options.get("raises"):
        _, failed = failure(lambda session: _names(example, runner, session).values(), environment, _read(example))
        raised = _condition(failed)
        assert raised == expected, f"{example} should raise {expected} but raised {raised}: {failed}"
        return
    with fresh_session(environment.spark) as session, contextlib.chdir(environment.folder), _own_signals():
        try:
            _run(example, runner, environment, session)
        except Exception as error:  # noqa: BLE001 - report any failure with the page and line
            # Drop the cause: pytest cannot show frames of code that is not in a file.
            raise AssertionError(f"{example} failed with {name_of(error)}: {error}") from None


def failure(
    run: Callable[[SparkSession], Iterable[object]], environment: PageEnvironment, topics: Sequence[str] = ("clicks",)
) -> tuple[str, BaseException]:
    """Run code that starts queries; return the moment of the failure, `start` or `later`, and the exception."""
    with fresh_session(environment.spark) as session, contextlib.chdir(environment.folder):
        try:
            queries = [value for value in run(session) if isinstance(value, StreamingQuery)]
        except Exception as error:  # noqa: BLE001 - the caller compares any exception
            return "start", error
        if not queries:
            return "later", AssertionError("the code ran to its end")

        def first_exception() -> BaseException | None:
            feed(environment.kafka, topics)
            return next((error for query in queries if (error := query.exception())), None)

        failed = eventually(first_exception, DEADLINE_SECONDS, "a failure of the query")
        assert failed is not None
        return "later", failed


def _condition(error: BaseException) -> str:
    if isinstance(error, GaveUpError):
        return error.decision.failure.name
    return name_of(error.__cause__ if isinstance(error, QueryFailedError) and error.__cause__ else error)


@contextlib.contextmanager
def fresh_session(spark: SparkSession) -> Iterator[SparkSession]:
    """Yield a session with separate settings and views, and with Spark's default minimum for the trigger interval."""
    session = spark.newSession()
    session.conf.unset("spark.sql.streaming.realTimeMode.minBatchDuration")
    try:
        yield session
    finally:
        for query in session.streams.active:
            query.stop()


def _names(example: Example, runner: EvalExample, session: SparkSession) -> dict[str, Any]:
    # `run_print_check` replaces `print`, so use it only for code that prints.
    run = runner.run_print_check if "print(" in example.fence.code else runner.run
    names: dict[str, Any] = run(example.as_code_example(), module_globals={"spark": session})
    return names


def _run(example: Example, runner: EvalExample, environment: PageEnvironment, session: SparkSession) -> None:
    if example.keeps_queries:
        with _interrupted(example, environment, session):
            _names(example, runner, session)
        return
    queries = [value for value in _names(example, runner, session).values() if isinstance(value, StreamingQuery)]
    queries += [query for query in session.streams.active if query.id not in {known.id for known in queries}]
    if example.starts_query:
        assert queries, f"{example} starts a query without binding it; assign it to a name"
        _prove(example, queries, environment)


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _interrupted(example: Example, environment: PageEnvironment, session: SparkSession) -> Iterator[None]:
    """Prove the queries of the block while `keep` blocks it, then press Ctrl-C."""
    kept, handler = list[StreamingQuery](), signal.getsignal(signal.SIGINT)

    def watch() -> None:
        try:
            wait_until(lambda: session.streams.active, DEADLINE_SECONDS, "a query")
            kept.extend(session.streams.active)
            if example.starts_query:
                _prove(example, kept, environment)
        finally:
            if signal.getsignal(signal.SIGINT) is not handler:
                os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        watched = pool.submit(watch)
        yield
    watched.result()
    assert not any(query.isActive for query in kept), f"{example} leaves queries running after Ctrl-C"


def _prove(example: Example, queries: list[StreamingQuery], environment: PageEnvironment) -> None:
    before = _written(environment)
    assert (example.mode == "real-time") == ("realTime=" in example.fence.code), (
        f"{example} has the mode {example.mode!r}, which its trigger contradicts"
    )
    for query in queries if example.mode == "real-time" else []:
        assert_real_time(query, DEADLINE_SECONDS)

    def has_written() -> bool:
        feed(environment.kafka, _read(example))
        if ".foreach(" in example.fence.code:
            return all(any(progress.numInputRows for progress in query.recentProgress) for query in queries)
        return _written(environment) > before

    try:
        wait_until(has_written, environment.output_seconds, "a record", queries)
    except TimeoutError:
        raise AssertionError(f"{example}: no record written after feeding {_read(example)}") from None


def _read(example: Example) -> list[str]:
    return [topic for topic in SOURCES if f'"{topic}"' in example.fence.code or f",{topic}" in example.fence.code]


def _written(environment: PageEnvironment) -> int:
    targets = [topic for topic in ALL_TOPICS if topic not in SOURCES]
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    wanted = {TopicPartition(topic, number): latest for topic in targets for number in range(PARTITIONS)}
    ends = _admin_of(environment.kafka).list_offsets(wanted, request_timeout=10)
    return sum(end.result(10).offset for end in ends.values())


@functools.cache
def _admin_of(kafka: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka, "log_level": 2})


def run_with_own_topics(
    code: str, topics: Sequence[str], spark: SparkSession, kafka: str, folder: Path
) -> tuple[dict[str, Any], list[str]]:
    """Run the code of a page with separate topics and checkpoints; return its names and the topics."""
    own = [f"{topic}-{folder.name}" for topic in topics]
    ensure_topics(kafka, own, 1)
    for topic, name in zip(topics, own, strict=True):
        code = code.replace(f'"{topic}"', f'"{name}"')
    names: dict[str, Any] = {"spark": spark}
    exec(code.replace('"checkpoints/', f'"{folder}/'), names)
    return names, own
