"""Damaged checkpoints: `inspect` reports a problem exactly if a start on OSS 4.3.0 fails."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.commands.errors import find
from spark_rtm.inspect.files.folder import UnreadableError
from spark_rtm.inspect.inspection import inspect
from tests.pages.jobs import prepare

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

Damage = Callable[[Path], object]


def counts(spark: SparkSession) -> DataFrame:
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 4).load()
    return rows.selectExpr("value % 3 as k").groupBy("k").count()


def start(spark: SparkSession, checkpoint: Path) -> StreamingQuery:
    writer = counts(spark).writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    return writer.outputMode("update").trigger(once=True).start()


@pytest.fixture(scope="module")
def prepared(spark: SparkSession) -> SparkSession:
    return prepare(spark.newSession())


@pytest.fixture(scope="module")
def sound(prepared: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound") / "checkpoint"
    for _ in range(3):
        start(prepared, folder).awaitTermination(60)
    return folder


def edit(path: str, old: bytes, new: bytes, *, checksum: bool = True) -> Damage:
    def change(checkpoint: Path) -> None:
        file = checkpoint / path
        file.write_bytes(file.read_bytes().replace(old, new) if old else new)
        if not checksum:
            file.with_name(f".{file.name}.crc").unlink()

    return change


def state_file(checkpoint: Path, version: int) -> Path:
    return next(checkpoint.glob(f"state/0/0/{version}_*.changelog"))


DAMAGES: dict[str, tuple[Damage, str]] = {
    "nothing": (lambda _: None, ""),
    "metadata missing": (lambda c: (c / "metadata").unlink(), "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"),
    "metadata empty": (edit("metadata", b"", b"", checksum=False), "MismatchedInputException"),
    "metadata is no JSON": (edit("metadata", b"", b"{x", checksum=False), "JsonParseException"),
    # The message of Hadoop's ChecksumException.
    "metadata edited": (edit("metadata", b'{"id"', b'{ "id"'), "Checksum error"),
    "offsets edited": (edit("offsets/2", b"\n", b" \n"), "Checksum error"),
    "commit edited, without checksum": (edit("commits/2", b"{", b"{ ", checksum=False), ""),
    "old offsets edited": (edit("offsets/0", b"{", b"{ "), ""),
    "offsets of a newer version": (edit("offsets/2", b"v1", b"v9", checksum=False), "INVALID_LOG_VERSION"),
    "commit of a newer version": (edit("commits/2", b"v2", b"v9", checksum=False), "INVALID_LOG_VERSION"),
    "offsets of the last commit missing": (lambda c: (c / "offsets/2").unlink(), "STREAM_FAILED"),
    "commit empty": (edit("commits/2", b"", b"", checksum=False), "Incomplete log file"),
    "empty commit deleted": (lambda c: (c / "commits/2").unlink(), ""),
    "planned offsets empty": (lambda c: (c / "offsets/3").write_bytes(b""), "Incomplete log file"),
    "state missing": (lambda c: shutil.rmtree(c / "state"), "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"),
    "last changes missing": (lambda c: state_file(c, 3).unlink(), "CANNOT_LOAD_STATE_STORE"),
    "earlier changes missing": (lambda c: state_file(c, 2).unlink(), "CANNOT_LOAD_STATE_STORE"),
    "last changes empty": (lambda c: state_file(c, 3).write_bytes(b""), "CANNOT_LOAD_STATE_STORE"),
    "schema missing": (lambda c: (c / "state/0/0/_metadata/schema").unlink(), ""),
    "schema empty": (edit("state/0/0/_metadata/schema", b"", b"", checksum=False), "STREAM_FAILED"),
    "operator metadata missing": (lambda c: (c / "state/0/_metadata/metadata").unlink(), ""),
}


@pytest.mark.parametrize(("damage", "condition"), DAMAGES.values(), ids=DAMAGES)
def test_report_foresees_the_start(
    prepared: SparkSession, sound: Path, tmp_path: Path, damage: Damage, condition: str
) -> None:
    """A damaged checkpoint with a problem fails with its condition; a sound one runs a batch."""
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(sound, checkpoint)
    damage(checkpoint)

    try:
        has_problem = inspect(str(checkpoint)).has_problem
    except UnreadableError:
        has_problem = True
    try:
        start(prepared, checkpoint).awaitTermination(60)
    except Exception as error:  # noqa: BLE001 - Py4J raises some failures of a start with its own class
        failure = f"{error} {getattr(error, 'java_exception', '')} {error.__cause__}"
    else:
        failure = ""

    assert has_problem == bool(failure), failure
    assert condition in failure
    # The text of STREAM_FAILED names no cause; only the last line of a whole trace does.
    assert condition in {"", "STREAM_FAILED"} or find(failure), "the error finder does not know this failure"
