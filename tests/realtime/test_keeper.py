"""The keeper and real failures; other tests cover outages, missing permissions and offsets, and lost executors."""

import logging
import os
import re
import signal
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime.control import SOURCE, commit
from spark_rtm.realtime.failures import INTERRUPTED, failure_of
from spark_rtm.realtime.keeper import GaveUpError, Keeper, Limits, keep
from spark_rtm.realtime.queries import QueryFailedError, stop_completely
from spark_rtm.realtime.standby import LostLockError, Standby
from tests.helpers import end_offset, eventually, kafka_rows, new_topic, produce, start_to_kafka, texts_of

pytestmark = [pytest.mark.spark, pytest.mark.services]

RETRIED = ["Timeout", "Disconnect", "Network", "NotEnoughReplicas", "UnknownTopicOrPartition"]
NOT_RETRIED = ["TopicAuthorization", "GroupAuthorization", "SaslAuthentication", "IllegalSaslState"]
QUICK = Limits(first_pause_seconds=0.5)


def start(
    spark: SparkSession,
    kafka: str,
    topics: tuple[str, str],
    folder: Path,
    source: str = "kafka",
    name: str = "numbers",
) -> StreamingQuery:
    numbers = kafka_rows(spark, kafka, topics[0], source).select(F.col("value").cast("string").cast("long"))
    rows = numbers.selectExpr("string(value) AS value")
    interval = "5 minutes" if source == SOURCE else "1 second"
    return start_to_kafka(rows, kafka, folder / name, interval, topic=topics[1])


def test_poison_record_stops_the_keeper_after_its_second_failure(
    spark: SparkSession, kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The query is started twice; the error and the log name the offset, the condition and the fix."""
    topics, started, times = (new_topic(kafka, 1), new_topic(kafka, 1)), list[StreamingQuery](), list[float]()

    def starter() -> StreamingQuery:
        times.append(time.monotonic())
        started.append(start(spark, kafka, topics, tmp_path))
        return started[-1]

    keeper = Keeper(spark, {"numbers": starter}, QUICK)
    keeper.start()
    produce(kafka, topics[0], [(0, b"1")])
    eventually(lambda: any(progress.numInputRows for progress in started[0].recentProgress), 60, "a commit")
    produce(kafka, topics[0], [(0, b"2"), (0, b"\x1b[2Jpoison"), (0, b"3")])
    with pytest.raises(GaveUpError) as gave_up:
        eventually(lambda: not keeper.poll(), 60, "the end of the keeper")

    assert ["1", "2", "2"] == texts_of(kafka, topics[1])
    assert [False, False] == [query.isActive for query in started]
    assert times[1] >= keeper.history[0].at + QUICK.first_pause_seconds
    place = re.escape(f'CAST_INVALID_INPUT after the committed offsets {{"{topics[0]}":{{"0":1}}}}')
    reason = "the same error at the same offsets twice"
    expected = f"query 'numbers' failed with {place}; {reason}.* not restarted; use try_cast"
    assert re.match(expected, str(gave_up.value))
    logged = [(record.levelno, record.getMessage()) for record in caplog.records if "keeper" in record.name]
    assert [logging.WARNING, logging.ERROR] == [level for level, _ in logged]
    assert "failure 1 of 5" in logged[0][1]
    assert str(gave_up.value) == logged[1][1]
    assert all(text.isprintable() for _, text in logged)


@pytest.mark.timeout(300)
def test_module_that_only_the_driver_has_stops_the_keeper(
    spark: SparkSession, kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart sends no module to the workers, so the keeper names the missing options of `spark-submit`."""
    topic, module = new_topic(kafka, 1), ModuleType("only_on_the_driver")
    exec("def same(value):\n    return value", module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    produce(kafka, topic, [(0, b"1")])
    started = list[StreamingQuery]()

    def starter() -> StreamingQuery:
        rows = kafka_rows(spark, kafka, topic).select(F.udf(module.same, "binary")("value"))
        writer = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).queryName("mapped")
        started.append(writer.trigger(processingTime="0 seconds").start())
        return started[-1]

    with pytest.raises(
        GaveUpError, match=r"'mapped' failed with .*lack a module, .*spark-submit --py-files.*--archives"
    ):
        keep(spark, {"mapped": starter}, threading.Event())
    assert "ModuleNotFoundError: No module named 'only_on_the_driver'" in str(started[0].exception())


@pytest.mark.parametrize("log", ["commits", "offsets"])
def test_interrupted_first_commit_is_repeated_and_counts_each_row_once(
    spark: SparkSession, kafka: str, tmp_path: Path, log: str
) -> None:
    """A process that is killed before it renames the hidden file of the first commit leaves these files."""
    source, target, checkpoint = new_topic(kafka, 1), new_topic(kafka, 1), tmp_path / "counts"

    def starter() -> StreamingQuery:
        counts = kafka_rows(spark, kafka, source, SOURCE).groupBy("value").count()
        rows = counts.selectExpr("value || ' ' || count AS value")
        return start_to_kafka(rows, kafka, checkpoint, "5 minutes", topic=target)

    produce(kafka, source, [(0, b"a"), (0, b"a")])
    query = starter()
    eventually(lambda: end_offset(kafka, target) == 2, 60, "two results")
    commit(query)
    stop_completely(spark, query)
    hidden, other = checkpoint / log / f".0.{uuid.uuid4()}.tmp", checkpoint / log / "other"
    (checkpoint / log / "0").rename(hidden)
    (checkpoint / "commits/0").unlink(missing_ok=True)
    other.touch()
    keeper = Keeper(spark, {"counts": starter}, QUICK)
    keeper.start()
    with pytest.raises(GaveUpError, match=r"is not restarted; .*hidden files.*otherwise restore the missing files"):
        eventually(lambda: not keeper.poll(), 60, "the end of the keeper")
    assert hidden.exists()
    other.unlink()
    keeper = Keeper(spark, {"counts": starter}, QUICK)
    keeper.start()
    produce(kafka, source, [(0, b"a")])

    eventually(lambda: keeper.poll() and end_offset(kafka, target) == 5, 60, "the results")

    assert ["a 1", "a 2", "a 1", "a 2", "a 3"] == texts_of(kafka, target)
    assert [INTERRUPTED] == [failure.cause for failure in keeper.history]
    assert not hidden.exists()


def test_second_writer_ends_all_queries_within_a_batch(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """An entry of another process in the log of a checkpoint ends the keeper, which commits no other query's batch."""
    topics = (new_topic(kafka, 1), new_topic(kafka, 1))
    names = ("first", "second")
    keeper = Keeper(spark, {name: partial(start, spark, kafka, topics, tmp_path, SOURCE, name) for name in names})
    keeper.start()
    produce(kafka, topics[0], [(0, b"1")])
    eventually(lambda: end_offset(kafka, topics[1]) == 2, 60, "a row of each query")
    (tmp_path / "first/offsets/0").write_text("v1")
    with pytest.raises(QueryFailedError, match="CONCURRENT_STREAM_LOG_UPDATE"):
        commit(keeper.queries["first"])

    with pytest.raises(GaveUpError, match=r"a second process runs the query on the same checkpoint.*is not restarted"):
        keeper.poll()

    assert [False, False] == [query.isActive for query in keeper.queries.values()]
    assert [] == list(tmp_path.glob("second/commits/*"))


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("is_draining", [False, True], ids=["running", "draining"])
def test_keep_without_its_lock_file_stops_in_the_middle_of_a_batch(
    spark: SparkSession, kafka: str, tmp_path: Path, is_draining: bool
) -> None:
    """SIGTERM also does not drain the query of a process that has lost its lock, or loses it meanwhile."""
    topics, lock_path = (new_topic(kafka, 1), new_topic(kafka, 1)), tmp_path / "lock"
    produce(kafka, topics[0], [(0, b"500")] * 100)

    def starter() -> StreamingQuery:
        numbers = kafka_rows(spark, kafka, topics[0], SOURCE).select(F.col("value").cast("string").alias("value"))
        slow = numbers.where("reflect('java.lang.Thread', 'sleep', bigint(value)) IS NOT NULL")
        return start_to_kafka(slow, kafka, tmp_path / "numbers", "5 minutes", topic=topics[1])

    def delete() -> None:
        eventually(lambda: end_offset(kafka, topics[1]) >= 1, 60, "a row")
        if is_draining:
            os.kill(os.getpid(), signal.SIGTERM)
            eventually(lambda: [*tmp_path.glob("numbers/commits/[0-9]*")], 60, "the first commit of the drain")
        lock_path.unlink()
        if not is_draining:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=delete)
    thread.start()
    with pytest.raises(LostLockError, match="was deleted or replaced"):
        keep(spark, {"numbers": starter}, standby=Standby(lock_path), deadline_seconds=300)
    thread.join()

    assert [] == spark.streams.active
    assert is_draining == bool([*tmp_path.glob("numbers/commits/*")])
    assert end_offset(kafka, topics[1]) < 100


def test_run_after_one_that_refuses_commits_commits_periodically(
    spark: SparkSession, kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics, sources, stop = (new_topic(kafka, 1), new_topic(kafka, 1)), ["kafka", SOURCE], threading.Event()
    keeper = Keeper(spark, {"numbers": lambda: start(spark, kafka, topics, tmp_path, sources.pop(0))})
    keeper.start()
    try:
        keeper.commit_every(0.1, stop)
        eventually(lambda: "commits only at its interval" in caplog.text, 30, "the refusal")
        stop_completely(spark, keeper.queries["numbers"])
        keeper.start()
        eventually(lambda: keeper.queries["numbers"].lastProgress, 60, "a commit long before the interval of 5 minutes")
    finally:
        stop.set()
        keeper.stop()


def test_query_that_cannot_start_stops_the_others(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    topics = (new_topic(kafka, 1), new_topic(kafka, 1))

    def broken() -> StreamingQuery:
        writer = spark.readStream.format("rate").load().writeStream.format("console")
        return writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload, no-any-return]

    keeper = Keeper(spark, {"numbers": lambda: start(spark, kafka, topics, tmp_path), "broken": broken})

    with pytest.raises(PySparkException, match="OUTPUT_MODE_NOT_SUPPORTED"):
        keeper.start()

    assert not keeper.queries["numbers"].isActive


def test_transient_kafka_exceptions_are_those_that_clients_retry(spark: SparkSession) -> None:
    """According to Kafka's own classes, a retry can help; this excludes missing permissions."""
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]  # noqa: SLF001 - not public
    retried = loader.loadClass("org.apache.kafka.common.errors.RetriableException")

    kinds = list[tuple[bool, str]]()
    for name in (*RETRIED, *NOT_RETRIED):
        java = f"org.apache.kafka.common.errors.{name}Exception"
        failure = failure_of("copy", RuntimeError(f"{java}: text"), 0)
        kinds.append((retried.isAssignableFrom(loader.loadClass(java)), failure.cause.kind.name))

    assert [(True, "TRANSIENT")] * len(RETRIED) + [(False, "PERMANENT")] * len(NOT_RETRIED) == kinds


@pytest.fixture
def signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
def test_signal_ends_the_call_with_all_queries_drained(
    spark: SparkSession, kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """
    After SIGTERM, all queries have stopped, and the restarted query repeats no result of the `rtm-kafka` source.

    Without time to drain, the query stops in the middle of a batch.
    """
    topics = (new_topic(kafka, 1), new_topic(kafka, 1))

    def press(number: int) -> None:
        produce(kafka, topics[0], [(0, b"%d" % number)])
        eventually(lambda: end_offset(kafka, topics[1]) == number, 60, "a row")
        os.kill(os.getpid(), signal.SIGTERM)

    for number, deadline_seconds in ((1, 30), (2, 30), (3, 0)):
        thread = threading.Thread(target=press, args=(number,))
        thread.start()
        starters = {"numbers": partial(start, spark, kafka, topics, tmp_path, SOURCE)}
        keep(spark, starters, deadline_seconds=deadline_seconds)
        thread.join()

    assert [] == spark.streams.active
    assert ["1", "2", "3"] == texts_of(kafka, topics[1])
    messages = [record.getMessage() for record in caplog.records]
    assert ["query 'numbers' stops in the middle of a batch"] == [text.partition(",")[0] for text in messages]
