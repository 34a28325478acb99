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
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pytest_examples import EvalExample

from spark_rtm.realtime.failures import name_of
from spark_rtm.realtime.keeper import GaveUpError
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import QueryFailedError, raise_if_failed, wait_until
from tests.pages.examples import Example
from tests.pages.samples import ALL_TOPICS, PARTITIONS, SOURCES, feed

FEED_PAUSE_SECONDS = 0.5


@dataclass(frozen=True)
class PageEnvironment:
    """The environment of code blocks: a session, a broker and a folder for checkpoints."""

    spark: SparkSession
    kafka: str
    folder: Path
    deadline_seconds: float = 90


def check_example(example: Example, runner: EvalExample, environment: PageEnvironment) -> None:
    """Run an example with the fate `run` or `raises`; raise AssertionError if the outcome differs."""
    shutil.rmtree(environment.folder / "checkpoints", ignore_errors=True)
    with fresh_session(environment.spark) as session:
        expected = example.fence.options.get("raises")
        if expected:
            raised = _raised_name(example, runner, environment, session)
            if raised != expected:
                raise AssertionError(f"{example} should raise {expected} but raised {raised}")
            return
        try:
            queries = _run(example, runner, environment, session)
            if example.starts_query and not example.keeps_queries:
                _prove(example, queries, environment)
        except Exception as error:  # noqa: BLE001 - report any failure with the page and line
            # Drop the cause: pytest cannot show frames of code that is not in a file.
            raise AssertionError(f"{example} failed with {name_of(error)}: {error}") from None


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


def _run(
    example: Example, runner: EvalExample, environment: PageEnvironment, session: SparkSession
) -> list[StreamingQuery]:
    # `run_print_check` replaces `print`, so use it only for code that prints.
    run = runner.run_print_check if "print(" in example.fence.code else runner.run
    with contextlib.chdir(environment.folder), _own_signals():
        if example.keeps_queries:
            with _interrupted(example, environment, session) as kept:
                run(example.as_code_example(), module_globals={"spark": session})
            return kept
        names = run(example.as_code_example(), module_globals={"spark": session})
    queries = [value for value in names.values() if isinstance(value, StreamingQuery)]
    queries += [query for query in session.streams.active if query.id not in {known.id for known in queries}]
    assert not example.starts_query or queries, f"{example} starts a query without binding it; assign it to a name"
    return queries


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _interrupted(
    example: Example, environment: PageEnvironment, session: SparkSession
) -> Iterator[list[StreamingQuery]]:
    """Prove the queries of the block while `keep` blocks it, then press Ctrl-C; yield the list of these queries."""
    kept, errors, handler = list[StreamingQuery](), list[BaseException](), signal.getsignal(signal.SIGINT)

    def watch() -> None:
        try:
            wait_until(lambda: session.streams.active, environment.deadline_seconds, "a query")
            kept.extend(session.streams.active)
            if example.starts_query:
                _prove(example, kept, environment)
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread of the test
            errors.append(error)
        if signal.getsignal(signal.SIGINT) is not handler:
            os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield kept
    finally:
        watcher.join()
    if errors:
        raise errors[0]
    assert not any(query.isActive for query in kept), f"{example} leaves queries running after Ctrl-C"


def _raised_name(example: Example, runner: EvalExample, environment: PageEnvironment, session: SparkSession) -> str:
    try:
        queries = _run(example, runner, environment, session)
        if queries:
            _wait(lambda: False, example, queries, environment)
    except AssertionError as error:
        return f"nothing within {environment.deadline_seconds:g} s ({error})"
    except GaveUpError as error:
        return error.decision.failure.name
    except Exception as error:  # noqa: BLE001 - the caller compares the name of any exception
        return name_of(error.__cause__ if isinstance(error, QueryFailedError) and error.__cause__ else error)
    return "nothing: the code ran to its end"


def _prove(example: Example, queries: list[StreamingQuery], environment: PageEnvironment) -> None:
    before = _written(environment)
    assert (example.mode == "real-time") == ("realTime=" in example.fence.code), (
        f"{example} has the mode {example.mode!r}, which its trigger contradicts"
    )
    for query in queries if example.mode == "real-time" else []:
        assert_real_time(query, environment.deadline_seconds)
    has_written = _has_committed if ".foreach(" in example.fence.code else lambda _: _written(environment) > before
    _wait(lambda: has_written(queries), example, queries, environment)
    raise_if_failed(queries)


def _has_committed(queries: list[StreamingQuery]) -> bool:
    return all(any(progress.numInputRows for progress in query.recentProgress) for query in queries)


def _wait(
    is_done: Callable[[], bool], example: Example, queries: list[StreamingQuery], environment: PageEnvironment
) -> None:
    read = [topic for topic in SOURCES if f'"{topic}"' in example.fence.code or f",{topic}" in example.fence.code]
    pause, end = threading.Event(), time.monotonic() + environment.deadline_seconds
    while not is_done():
        raise_if_failed(queries)
        if time.monotonic() > end:
            raise AssertionError(f"{example}: no record written after feeding {read or 'no known topic'}")
        feed(environment.kafka, read)
        pause.wait(FEED_PAUSE_SECONDS)


def _written(environment: PageEnvironment) -> int:
    targets = [topic for topic in ALL_TOPICS if topic not in SOURCES]
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    wanted = {TopicPartition(topic, number): latest for topic in targets for number in range(PARTITIONS)}
    ends = _admin_of(environment.kafka).list_offsets(wanted, request_timeout=10)
    return sum(end.result(10).offset for end in ends.values())


@functools.cache
def _admin_of(kafka: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka, "log_level": 2})
