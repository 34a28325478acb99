"""
Damaged checkpoints: `inspect` reports that a mode can continue exactly if a query in this mode starts on OSS 4.3.0.

If the query does not start, its error contains the condition or message in the report.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.commands.errors import find
from spark_rtm.inspect.files.folder import UnreadableError
from spark_rtm.inspect.inspection import inspect
from spark_rtm.realtime.queries import stop_completely, wait_until
from tests.helpers import kafka_rows, new_topic, start_to_kafka
from tests.inspect import damages
from tests.inspect.damages import DAMAGES, UNSEEN, Damage, edit, swap
from tests.pages.jobs import FORMAT, PREPARED, PROVIDER, newest_entry
from tests.realtime.test_control import COUNTS, processed

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(180)]

REAL_TIME, MICRO_BATCH = "real-time", "micro-batch"
BATCHES, KEYS = 3, 4


def counted(rows: DataFrame) -> DataFrame:
    return rows.groupBy("key").count().selectExpr(COUNTS)


def copied(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("cast(value as string) value")


QUERIES: dict[str, tuple[Callable[[DataFrame], DataFrame], str, dict[str, str]]] = {
    damages.STATELESS_1: (copied, MICRO_BATCH, {}),
    damages.STATELESS: (copied, REAL_TIME, PREPARED),
    damages.COUNTS_1: (counted, MICRO_BATCH, {}),
    damages.COUNTS_2: (counted, MICRO_BATCH, PREPARED),
    damages.COUNTS: (counted, REAL_TIME, PREPARED),
    damages.PROCESSOR: (processed, REAL_TIME, PREPARED),
}
MOVED = ["nothing", "two batches planned", "commits missing", "first commit interrupted", "logs and sources missing"]
"""Damage to micro-batch checkpoints that is also tried in real-time mode, and the other way round."""


FAILURES = {
    "metadata missing": "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
    "metadata empty": "MismatchedInputException",
    "metadata is no JSON": "JsonParseException",
    "metadata edited": "Checksum error",  # the message of a ChecksumException
    "offsets before the last missing": "batch 1 doesn't exist",
    "batch planned after a gap": "Previous batch 8 not found in offset log",
    "last offsets of two sources": "sources in the checkpoint offsets and now there are",
    "last offsets of version 9": "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION",
    "last commit empty": "Incomplete log file",
    "first commit interrupted": "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
    "operator missing": "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
    "last changes missing": "CANNOT_LOAD_STATE_STORE.CANNOT_READ_",
    "rewriting stopped": "STREAMING_UNFINISHED_REPARTITION_DETECTED",
}
"""Conditions or messages of failed starts."""


@dataclass(frozen=True)
class Job:
    spark: SparkSession
    kafka: str
    query: Callable[[DataFrame], DataFrame]
    mode: str
    source: str
    target: str
    sound: Path = field(default=Path())

    def start(self, checkpoint: Path, mode: str) -> StreamingQuery:
        rows = self.query(kafka_rows(self.spark, self.kafka, self.source))
        trigger: tuple[str | bool, str] = ("1 second", "realTime") if mode == REAL_TIME else (True, "once")
        return start_to_kafka(rows, self.kafka, checkpoint, *trigger, topic=self.target)

    def send(self) -> None:
        producer = Producer({"bootstrap.servers": self.kafka, "linger.ms": 0})
        for key in range(KEYS):
            producer.produce(self.source, "1", str(key))
        assert 0 == producer.flush(30)

    def failure(self, checkpoint: Path, mode: str) -> str:
        """Start the query, and return its failure, or an empty text after its first commit."""
        before, query = newest_entry(checkpoint / "commits"), None
        try:
            query = self.start(checkpoint, mode)
            is_done = {
                REAL_TIME: lambda: newest_entry(checkpoint / "commits") > before,
                # With connector 4.1, `KafkaMicroBatchStream$.metrics` fails after the commit of a repeated batch.
                MICRO_BATCH: lambda: not query.isActive,
            }
            wait_until(is_done[mode], 60, "a commit", [query])
            exception = query.exception()
        except Exception as error:  # noqa: BLE001 - Py4J raises some failures with its own class
            return f"{error} {getattr(error, 'java_exception', '')} {error.__cause__}"
        finally:
            if query is not None:
                stop_completely(self.spark, query)
        return f"{exception}" if exception else ""


@pytest.fixture(scope="module")
def jobs(spark: SparkSession, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Job]:
    """Return a function that returns the job of a kind, with a checkpoint of three batches and a record to read."""
    made = dict[str, Job]()

    def job(kind: str) -> Job:
        if kind not in made:
            query, mode, confs = QUERIES[kind]
            session = spark.newSession()
            for key in (FORMAT, PROVIDER):
                session.conf.unset(key)
            for key, value in {"spark.sql.shuffle.partitions": "2", **confs}.items():
                session.conf.set(key, value)
            sound = tmp_path_factory.mktemp("sound") / "checkpoint"
            made[kind] = one = Job(session, kafka, query, mode, new_topic(kafka, 1), new_topic(kafka, 1), sound)
            one.send()
            running = one.start(sound, mode)
            for batch in range(BATCHES):
                wait_until(lambda: newest_entry(sound / "commits") >= batch, 60, "a commit", [running])  # noqa: B023
                if mode == MICRO_BATCH and batch < BATCHES - 1:
                    running.awaitTermination(60)
                    one.send()
                    running = one.start(sound, mode)
            stop_completely(spark, running)
            one.send()
        return made[kind]

    return job


CASES = [(kind, QUERIES[kind][1], name) for name, (kinds, _) in DAMAGES.items() for kind in kinds]
CASES += [(damages.COUNTS_2, REAL_TIME, name) for name in MOVED]
CASES += [(kind, MICRO_BATCH, name) for name in MOVED for kind in (damages.COUNTS, damages.STATELESS)]
CASES += [(kind, REAL_TIME, "nothing") for kind in (damages.STATELESS_1, damages.COUNTS_1)]


def inspected(checkpoint: Path, mode: str) -> tuple[bool, str]:
    """Return whether the report says that a mode can continue, and the condition that it names."""
    try:
        report = inspect(str(checkpoint))
    except UnreadableError as error:
        begins = "it begins with batch 0 in any mode", "real-time mode begins with batch 0"
        return any(text in str(error) for text in begins[: 2 if mode == REAL_TIME else 1]), ""
    assert report.has_problem == (not report.real_time.is_possible and not report.micro_batch.is_possible)
    move = report.real_time if mode == REAL_TIME else report.micro_batch
    condition, _, text = move.reason.partition(": ")
    return move.is_possible, condition if text and not move.is_possible else ""


def damaged(job: Job, damage: Damage, tmp_path: Path) -> Path:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(job.sound, checkpoint)
    damage(checkpoint)
    return checkpoint


@pytest.mark.parametrize(("kind", "mode", "name"), CASES, ids=[" / ".join(case) for case in CASES])
def test_report_foresees_the_start(jobs: Callable[[str], Job], tmp_path: Path, kind: str, mode: str, name: str) -> None:
    job = jobs(kind)
    checkpoint = damaged(job, DAMAGES[name][1], tmp_path)

    can_continue, condition = inspected(checkpoint, mode)
    failure = job.failure(checkpoint, mode)

    assert can_continue == (failure == ""), failure
    assert any(one in failure for one in condition.split(" or "))
    assert not failure or FAILURES.get(name, "") in failure
    assert not condition.isupper() or find(failure), "the error finder does not know this failure"


@pytest.mark.parametrize("name", UNSEEN)
def test_damage_that_only_the_start_finds(jobs: Callable[[str], Job], tmp_path: Path, name: str) -> None:
    """`inspect` does not find this damage, and its page lists it as a limit."""
    kinds, damage = UNSEEN[name]
    for kind in kinds:
        checkpoint = damaged(jobs(kind), damage, tmp_path / kind)

        assert (True, "") == inspected(checkpoint, MICRO_BATCH)
        assert jobs(kind).failure(checkpoint, MICRO_BATCH)


def test_start_with_fewer_partitions_loses_keys_without_error(jobs: Callable[[str], Job], tmp_path: Path) -> None:
    fewer = edit("offsets/2", swap(damages.PARTITIONS, rb'\g<1>"1"'))
    checkpoint = damaged(jobs(damages.COUNTS_2), fewer, tmp_path)

    move = inspect(str(checkpoint)).micro_batch

    assert not move.is_possible
    assert "the state has 2 partitions, but offsets/2 specifies 1" in move.reason
    assert not jobs(damages.COUNTS_2).failure(checkpoint, MICRO_BATCH)
