"""
Run the code block of a page and prove what it claims.

An example arrives; it leaves silently if it did what its fate says, or with an AssertionError that says what it did.
A started query must show its execution mode in its plan and put at least one record into a topic, then it is stopped.
"""

import contextlib
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pytest_examples import EvalExample

from examples.realtime.slots import CONDITION, QueryFailedError, assert_real_time, raise_if_failed
from scripts.lint.engine import lint_text
from tests.pages.examples import Example
from tests.pages.samples import ALL_TOPICS, PARTITIONS, SOURCES, feed

FEED_PAUSE_SECONDS = 0.5
JAVA_ERROR = re.compile(r"\b(?:[a-z]\w*\.)+([A-Z]\w*(?:Exception|Error))\b")
# What wraps the real cause.
WRAPPERS = {"SparkException", "StreamingQueryException", "ExecutionException", "TaskCompletionListenerException"}


@dataclass(frozen=True)
class Place:
    """Where the code of pages runs: a session, a broker and a folder for checkpoints."""

    spark: SparkSession
    kafka: str
    folder: Path
    deadline_seconds: float = 90


def check_example(example: Example, runner: EvalExample, place: Place) -> None:
    """Run an example with the fate `run` or `raises`, and prove that it did what it should."""
    shutil.rmtree(place.folder / "checkpoints", ignore_errors=True)
    with fresh_session(place.spark) as session:
        expected = example.fence.options.get("raises")
        if expected:
            raised = _raised_name(example, runner, place, session)
            if raised != expected:
                raise AssertionError(f"{example} should raise {expected}, and it raised {raised}{_advice(example)}")
            return
        try:
            queries = _run(example, runner, place, session)
            if example.starts_query:
                _prove(example, queries, place)
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to the page's line
            # Without its cause: pytest cannot draw the frames of code that stands in no file.
            raise AssertionError(f"{example} failed with {name_of(error)}: {error}{_advice(example)}") from None


@contextlib.contextmanager
def fresh_session(spark: SparkSession) -> Iterator[SparkSession]:
    """Yield a session whose settings and views are its own, with the engine's own limit on the interval."""
    session = spark.newSession()
    session.conf.unset("spark.sql.streaming.realTimeMode.minBatchDuration")
    try:
        yield session
    finally:
        for query in session.streams.active:
            query.stop()


def name_of(error: BaseException) -> str:
    """Return the error condition, else the deepest Java exception, else the Python type."""
    text = str(error)
    conditions = [name for name in CONDITION.findall(text) if name != "STREAM_FAILED"]
    if conditions:
        return str(max(conditions, key=lambda name: str(name).count(".")))
    if isinstance(error, PySparkException) and (condition := error.getCondition()):
        return str(condition)
    java = [name for name in JAVA_ERROR.findall(text) if name not in WRAPPERS]
    return str(java[-1]) if java else type(error).__name__


def _run(example: Example, runner: EvalExample, place: Place, session: SparkSession) -> list[StreamingQuery]:
    # Checking what is printed replaces `print`, which the plans of `preflight` need.
    run = runner.run_print_check if "print(" in example.fence.code else runner.run
    with contextlib.chdir(place.folder):
        names = run(example.as_code_example(), module_globals={"spark": session})
    queries = [value for value in names.values() if isinstance(value, StreamingQuery)]
    queries += [query for query in session.streams.active if query.id not in {known.id for known in queries}]
    assert not example.starts_query or queries, f"{example} starts a query and keeps it nowhere; bind it to a name"
    return queries


def _raised_name(example: Example, runner: EvalExample, place: Place, session: SparkSession) -> str:
    try:
        queries = _run(example, runner, place, session)
        if queries:
            _wait(lambda: False, example, queries, place)
    except AssertionError as error:
        return f"nothing within {place.deadline_seconds:g} s ({error})"
    except Exception as error:  # noqa: BLE001 - whatever it is, its name is compared
        return name_of(error.__cause__ if isinstance(error, QueryFailedError) and error.__cause__ else error)
    return "nothing: the code ran to its end"


def _prove(example: Example, queries: list[StreamingQuery], place: Place) -> None:
    before = _written(place)
    assert (example.mode == "real-time") == ("realTime=" in example.fence.code), (
        f"{example} has the mode {example.mode!r}"
    )
    for query in queries if example.mode == "real-time" else []:
        assert_real_time(query, place.deadline_seconds)
    _wait(lambda: _written(place) > before, example, queries, place)
    raise_if_failed(queries)


def _wait(is_done: Callable[[], bool], example: Example, queries: list[StreamingQuery], place: Place) -> None:
    read = [topic for topic in SOURCES if f'"{topic}"' in example.fence.code or f",{topic}" in example.fence.code]
    pause, end = threading.Event(), time.monotonic() + place.deadline_seconds
    while not is_done():
        raise_if_failed(queries)
        if time.monotonic() > end:
            raise AssertionError(f"{example}: no record came out after feeding {read or 'no known topic'}")
        feed(place.kafka, read)
        pause.wait(FEED_PAUSE_SECONDS)


def _written(place: Place) -> int:
    targets = [topic for topic in ALL_TOPICS if topic not in SOURCES]
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    wanted = {TopicPartition(topic, number): latest for topic in targets for number in range(PARTITIONS)}
    admin = AdminClient({"bootstrap.servers": place.kafka})
    return sum(end.result(10).offset for end in admin.list_offsets(wanted, request_timeout=10).values())


def _advice(example: Example) -> str:
    findings = lint_text(f"```python\n{example.fence.code}```\n", example.page)
    return "".join(f"\n  {example.page}: {finding.message}; {finding.fix}" for finding in findings)
