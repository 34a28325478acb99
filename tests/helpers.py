from __future__ import annotations

import functools
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import psutil
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.queries import wait_until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

T = TypeVar("T")

RARE_POLLS = {"spark.sql.streaming.pollingDelay": "100ms"}
"""
Settings of all sessions in tests.

By default, a micro-batch query without an interval asks the broker for new records 100 times a second, which takes 0.3
cores.
"""

RARE_FLUSHES = {"spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "50"}
"""
Settings of the shared session in tests: the default of Spark.

With 1 ms, as `build_session` sets it, an idle stateful query takes 0.05 cores instead of 0.02.
"""

FEW_TASKS = {"spark.default.parallelism": "2"}
"""
Settings of the shared session in tests.

By default, `createDataFrame` splits its rows into one task per slot, and each of these 24 tasks starts a Python worker.
"""

IVY_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="folder"/>
  <resolvers>
    <filesystem name="folder"><artifact pattern="{folder}/[artifact]-[revision].[ext]"/></filesystem>
  </resolvers>
</ivysettings>
"""


def eventually(probe: Callable[[], T], deadline_seconds: float, what: str) -> T:
    """
    Call `probe` until it returns a true value, and return that value.

    Raises AssertionError with `what` and the last value after the deadline.
    """
    values: list[T] = []

    def is_true() -> T:
        values[:] = [probe()]
        return values[0]

    try:
        wait_until(is_true, deadline_seconds, what)
    except TimeoutError as error:
        raise AssertionError(f"{error}; the last value was {values[0]!r}") from None
    return values[0]


def ivy_settings(folder: Path) -> Path:
    path = folder.with_name("ivysettings.xml")
    path.write_text(IVY_SETTINGS.format(folder=folder))
    return path


def program(names: Sequence[str], unchecked: str, package: str) -> str:
    """Return the path of the first available program. Without any, a test fails in CI and is skipped elsewhere."""
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        report = pytest.fail if os.environ.get("CI") else pytest.skip
        install = f"on Debian `apt-get install --no-install-recommends {package}` installs one"
        report(f"none of {', '.join(names)} on this machine, so {unchecked}; {install}")
    return path


def without_java(folder: Path) -> dict[str, str]:
    """Return an environment with every program of the system except Java, as links in `folder`."""
    programs = folder / "programs"
    programs.mkdir()
    for program in (*Path("/bin").iterdir(), *Path("/usr/bin").iterdir()):
        if not program.name.startswith("java") and not programs.joinpath(program.name).exists():
            programs.joinpath(program.name).symlink_to(program)
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME" and not name.startswith("SPARK_")}
    return {**kept, "PATH": str(programs)}


def is_alive(pid: int) -> bool:
    """Return whether a process with this id is running; a zombie is not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def new_topic(kafka: str, partitions: int) -> str:
    name = f"test-{uuid.uuid4().hex[:8]}"
    ensure_topics(kafka, [name], partitions, {name: {}})
    return name


def add_partition(kafka: str, topic: str, partitions: int = 2, value: bytes = b"new") -> None:
    """Add partitions to a topic up to this number, and send a record to the last one."""
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(10)
    wait_until(lambda: len(admin.list_topics(timeout=10).topics[topic].partitions) == partitions, 30, "the partitions")
    produce(kafka, topic, [(partitions - 1, value)])


def produce(kafka: str, topic: str, records: Iterable[tuple[int, bytes | None]]) -> None:
    """Send (partition, value) records and wait until the broker has them."""
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0, "message.max.bytes": 2_000_000})
    for partition, value in records:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


def kafka_rows(spark: SparkSession, kafka: str, topics: str, source: str = "kafka", **options: str) -> DataFrame:
    """Return a stream of the records of some topics, from the first one unless the options say otherwise."""
    options = {"kafka.bootstrap.servers": kafka, "subscribe": topics, "startingOffsets": "earliest", **options}
    return spark.readStream.format(source).options(**{name: text for name, text in options.items() if text}).load()


def start_to_kafka(
    rows: DataFrame,
    kafka: str,
    checkpoint: Path,
    interval: str | bool = "2 seconds",
    trigger: str = "realTime",
    **options: str,
) -> StreamingQuery:
    """Start a query; without the `topic` option, each row names its topic."""
    options = {"kafka.bootstrap.servers": kafka, "checkpointLocation": str(checkpoint), **options}
    writer = rows.writeStream.format("kafka").options(**options).queryName(checkpoint.name).outputMode("update")
    return writer.trigger(**{trigger: interval}).start()  # type: ignore[arg-type]


def consumer_of(kafka: str) -> Consumer:
    """Return a consumer that all tests share, because opening one is slower than reading a test's records."""
    return _consumer_of_thread(kafka, threading.get_ident())


@functools.cache
def _consumer_of_thread(kafka: str, _thread: int) -> Consumer:
    return Consumer({"bootstrap.servers": kafka, "group.id": "test", "log_level": 2})


def end_offset(kafka: str, topic: str, partition: int = 0) -> int:
    """Return the end offset of a partition, as soon as the broker returns it after a restart."""

    def offsets() -> tuple[int, ...]:
        try:
            return tuple(consumer_of(kafka).get_watermark_offsets(TopicPartition(topic, partition), timeout=10))
        except KafkaException as error:
            # A new partition is unknown at first, and then briefly has no leader.
            if error.args[0].code() in (KafkaError._UNKNOWN_PARTITION, KafkaError.NOT_LEADER_FOR_PARTITION):  # noqa: SLF001
                return ()
            raise

    return eventually(offsets, 30, f"partition {partition} of {topic}")[1]


def records_of(kafka: str, topic: str, partition: int = 0, first: int = 0) -> list[Message]:
    count = end_offset(kafka, topic, partition) - first
    return list(_records(kafka, topic, partition, first, count)) if count else []


@functools.lru_cache(maxsize=4)
def _records(kafka: str, topic: str, partition: int, first: int, count: int) -> list[Message]:
    """Read records once. A waiting test polls 20 times a second, and each read takes 20 ms of the broker's time."""
    consumer = consumer_of(kafka)
    consumer.assign([TopicPartition(topic, partition, first)])
    records = consumer.consume(count, 20)
    consumer.unassign()
    assert len(records) == count, f"read {len(records)} of {count} records of {topic}"
    return records


def texts_of(kafka: str, topic: str, first: int = 0) -> list[str]:
    return [(record.value() or b"").decode() for record in records_of(kafka, topic, first=first)]
