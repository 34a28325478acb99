"""
Rewrite a stopped query's state for a different number of partitions: `rtm resize`.

Spark's non-public class `StreamingCheckpointManager` (4.3.0) rewrites the state in place and can fail halfway.
Therefore, this command first checks for everything that Spark rejects, works on a copy, and finally compares all state
rows.
"""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from spark_rtm.command_line import Argument
from spark_rtm.inspect.files.content import read_checkpoint
from spark_rtm.inspect.files.folder import SCHEME, UnreadableError, open_folder
from spark_rtm.inspect.mode import REAL_TIME_OPERATOR
from spark_rtm.inspect.start import SHUFFLE_PARTITIONS, refused_start
from spark_rtm.program import Command, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from pyspark.sql import DataFrame, SparkSession

    from spark_rtm.inspect.files.state import Operator

STATE_STORE = "spark.sql.streaming.stateStore"
MICRO_BATCH_OPERATOR = "stateStoreSave"
"""Operator name of micro-batch aggregations, which Spark accepts. Real-time aggregations have the same state format."""

DESCRIPTION = """Rewrite the state of a stopped query with a different number of partitions.

exit status:
  0  the copy was written, and its rows equal those of the checkpoint
  2  no copy was written, or a usage error"""
UNFINISHED = ".unfinished-"
"""Infix of an unfinished copy's folder name. A killed command leaves such a folder behind."""


class ResizeError(Exception):
    """Raised if the state was not rewritten. The copy is deleted."""


@dataclass(frozen=True)
class Options:
    """Options for the `resize` command."""

    checkpoint: Annotated[Path, Argument(is_positional=True)]
    """Checkpoint folder of a stopped query. The command does not change it."""
    partitions: int
    """New number of state partitions."""
    to: Annotated[Path, Argument("NEW")]
    """Folder for the rewritten copy."""


def run(options: Options) -> int:
    """Write the resized copy, print the next steps, and return the exit status."""
    try:
        _check_places(options.checkpoint, options.to)
        _checked(options.checkpoint, options.partitions)  # invalid input is reported at once, without starting Java
        from spark_rtm.services.spark import build_session  # noqa: PLC0415

        # A shell's background jobs ignore SIGINT, and SIGTERM would leave the unfinished folder behind.
        signal.signal(signal.SIGINT, _interrupt)
        signal.signal(signal.SIGTERM, _interrupt)
        with unfinished(options.to) as folder:
            spark = build_session("resize", slots=2)
            try:
                signal.signal(signal.SIGINT, _interrupt)  # PySpark has replaced the handler
                rows = _rewritten(spark, options.checkpoint, options.partitions, folder)
            finally:
                spark.stop()  # a running job would write into the deleted folder
    except (UnreadableError, ResizeError, RuntimeError) as error:
        raise UsageError(str(error)) from error
    print(f"{options.to} contains all {rows} state rows, unchanged, in {options.partitions} partitions")
    print(f"start the query with checkpointLocation {options.to}; {options.checkpoint} is unchanged")
    print(f"if the query reads ticks, set {SHUFFLE_PARTITIONS}={options.partitions}, so ticks reach all partitions")
    for left in options.to.parent.glob(f"{options.to.name}{UNFINISHED}*"):
        print(f"delete {left}, an incomplete copy of a killed command, unless another `rtm resize` is writing it")
    return 0


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def resize(spark: SparkSession, checkpoint: Path, partitions: int, target: Path) -> int:
    """
    Write a copy of `checkpoint` with `partitions` state partitions, and return its number of state rows.

    The query must be stopped. As after any restart, records read after the last commit are read again.
    Raises `ResizeError` or `UnreadableError` with the reason and a remedy. After an error, `target` does not exist.
    """
    _check_places(checkpoint, target)
    with unfinished(target) as folder:
        return _rewritten(spark, checkpoint, partitions, folder)


@contextmanager
def unfinished(target: Path) -> Iterator[Path]:
    """Yield a new folder next to `target`. Rename the folder to `target` at the end, or delete it after an error."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{target.name}{UNFINISHED}", dir=target.parent))
    except OSError as error:
        raise ResizeError(f"cannot write to the parent folder of {target}: {error}; choose another --to") from error
    try:
        yield folder
        try:
            folder.rename(target)
        except OSError as error:
            raise ResizeError(f"cannot rename the copy to {target}: {error}; choose a new folder with --to") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rewritten(spark: SparkSession, checkpoint: Path, partitions: int, target: Path) -> int:
    from spark_rtm.services.spark import STATE_STORE_PROVIDER  # noqa: PLC0415 - rejections need no PySpark

    operators, batch = _checked(checkpoint, partitions)
    session = spark.newSession()
    session.conf.set(f"{STATE_STORE}.providerClass", STATE_STORE_PROVIDER)
    session.conf.set(f"{STATE_STORE}.checkpointFormatVersion", "2")
    try:
        shutil.copytree(checkpoint, target, symlinks=True, dirs_exist_ok=True)
        aggregations = [one.number for one in operators if one.name == REAL_TIME_OPERATOR]
        _rename(target, aggregations, MICRO_BATCH_OPERATOR)
        java: Any = session._jsparkSession  # noqa: SLF001 - the class is not public
        # `False` makes Spark accept a last batch without a commit, which a killed query leaves behind.
        java.streamingCheckpointManager().repartition(str(target.absolute()), partitions, False)
        rows = sum(compared(session, target, operator.number, batch) for operator in operators)
        _rename(target, aggregations, REAL_TIME_OPERATOR)
    except ResizeError:
        raise
    except Exception as error:
        raise ResizeError(f"Spark did not rewrite {checkpoint}: {error}; the checkpoint is unchanged") from error
    return rows


def _check_places(checkpoint: Path, target: Path) -> None:
    if address := next((place for place in (checkpoint, target) if SCHEME.match(str(place))), None):
        raise ResizeError(
            f"{address} is an address, but this command reads and writes local folders; copy the checkpoint to this "
            "machine with the store's own tool, resize the copy, and upload the result to a new address"
        )
    if target.exists():
        raise ResizeError(f"{target} exists; choose a new folder with --to")
    if target.resolve().is_relative_to(checkpoint.resolve()):
        raise ResizeError(f"{target} is inside the checkpoint, which must not change; choose another folder with --to")
    for path in checkpoint.rglob("*"):
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise ResizeError(f"{path} is not a regular file; replace it with the file to which it points")


def _checked(checkpoint: Path, partitions: int) -> tuple[tuple[Operator, ...], int]:
    if partitions < 1:
        raise ResizeError(f"--partitions {partitions} is too small; use at least 1")
    read = read_checkpoint(open_folder(str(checkpoint)), str(checkpoint))
    if not (read.operators and read.position):
        raise ResizeError(
            f"{checkpoint} has no committed state, so the query starts with {SHUFFLE_PARTITIONS} of its session"
        )
    if refused := refused_start(read, is_real_time=False):
        raise ResizeError(f"{checkpoint} cannot be continued: {refused.reason}; {refused.remedy}")
    if read.position.confs.get(SHUFFLE_PARTITIONS) == str(partitions):
        raise ResizeError(f"{checkpoint} already has {partitions} state partitions; choose another number")
    return read.operators, read.position.batch


def _rename(checkpoint: Path, operators: list[int], name: str) -> None:
    for number in operators:
        path = checkpoint / f"state/{number}/_metadata/metadata"
        version, _, text = path.read_text(encoding="utf-8").partition("\n")
        content = json.loads(text)
        content["operatorInfo"]["operatorName"] = name
        path.write_text(f"{version}\n{json.dumps(content)}", encoding="utf-8")
        path.with_name(".metadata.crc").unlink(missing_ok=True)


def compared(session: SparkSession, checkpoint: Path, operator: int, batch: int) -> int:
    """Return the number of an operator's state rows. Raise `ResizeError` if the rows changed after `batch`."""
    after = _rows(session, checkpoint, operator)
    before = _rows(session, checkpoint, operator, batchId=batch)
    count = before.count()
    if after.count() != count or before.exceptAll(after).limit(1).count():
        raise ResizeError(f"the rewritten state/{operator} differs from the old state; the checkpoint is unchanged")
    return count


def _rows(session: SparkSession, checkpoint: Path, operator: int, **options: int) -> DataFrame:
    """Return an operator's state (default: the newest) as key and value bytes from all column families."""
    reader = session.read.format("statestore").options(operatorId=operator, _readAllColumnFamilies=True, **options)
    rows = reader.load(str(checkpoint.absolute()))
    return rows.select("column_family_name", "key_bytes", "value_bytes")


COMMANDS = [
    Command(
        "resize",
        "rewrite the state of a stopped query with a different number of partitions",
        Options,
        run,
        {"resize checkpoints/clicks --partitions 8 --to checkpoints/clicks-8": "write a copy with 8 state partitions"},
        DESCRIPTION,
        extra="prove",
    )
]
