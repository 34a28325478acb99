"""Checkpoints between execution modes; `test_migrate.py` moves only their position."""

from dataclasses import replace
from pathlib import Path

import pytest

from spark_rtm.inspect.inspection import inspect, starting_offsets
from spark_rtm.inspect.sources import Connection
from spark_rtm.realtime.queries import QueryFailedError
from tests.helpers import add_partition
from tests.pages.jobs import FORMAT, PREPARED, PROVIDER, ROCKSDB, Mode, ModeJob, run_until, send, written

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240), pytest.mark.side_by_side]

COUNTED = ("counted",)
REFUSED_V1 = "STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED"

Step = tuple[Mode, list[str] | str]
"""A run in a mode, after two more records: the values that it writes, or the error with which Spark rejects it."""
MOVES: dict[str, tuple[tuple[str, ...], dict[str, str], list[Step]]] = {
    "stateless, default settings": (
        (),
        {},
        [("micro-batch", ["a", "a"]), ("real-time", REFUSED_V1), ("async progress", ["b", "b", "c", "c"])],
    ),
    "stateless, format 2": (
        (),
        {FORMAT: "2"},
        [("micro-batch", ["a", "a"]), ("real-time", ["b", "b"]), ("async progress", ["c", "c"])],
    ),
    "continuous, RocksDB and format 2": (
        (),
        PREPARED,
        [
            ("continuous", ["a", "a"]),
            ("real-time", REFUSED_V1),
            ("micro-batch", "WatermarkTracker"),
            ("async progress", "WatermarkTracker"),
        ],
    ),
    "real-time, to continuous": (
        (),
        {},
        [("real-time", ["a", "a"]), ("continuous", ["b", "b"]), ("real-time", REFUSED_V1)],
    ),
    "stateful, default settings": (COUNTED, {}, [("micro-batch", ["2"]), ("real-time", REFUSED_V1)]),
    "stateful, RocksDB only": (COUNTED, {PROVIDER: ROCKSDB}, [("micro-batch", ["2"]), ("real-time", REFUSED_V1)]),
    "stateful, format only": (COUNTED, {FORMAT: "2"}, [("micro-batch", "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED")]),
    "stateful, RocksDB and format 2": (
        COUNTED,
        PREPARED,
        [("micro-batch", ["2"]), ("real-time", ["3", "4"]), ("micro-batch", ["6"])],
    ),
    "stateful, real-time first": (COUNTED, {}, [("real-time", ["1", "2"]), ("micro-batch", ["4"])]),
}


def assert_inspected(checkpoint: Path, earlier: Mode, mode: Mode, *, is_refused: bool) -> None:
    report = inspect(str(checkpoint))
    moves = {"real-time": report.real_time, "micro-batch": report.micro_batch}
    found = report.modes[-1].mode
    assert earlier == found if earlier in {"real-time", "continuous"} else earlier in found
    if mode in moves:
        assert is_refused != moves[mode].is_possible, moves[mode].reason


@pytest.mark.parametrize(("shapes", "confs", "steps"), MOVES.values(), ids=MOVES)
def test_checkpoint_moves_only_if_its_format_allows(
    job: ModeJob, shapes: tuple[str, ...], confs: dict[str, str], steps: list[Step]
) -> None:
    """Each mode continues or is rejected as listed. The next run processes the records of a rejected mode."""
    job, earlier = replace(job, shapes=shapes), None
    for key, value in confs.items():
        job.spark.conf.set(key, value)
    for record, (mode, expected) in zip("abc", steps, strict=False):
        if earlier:
            assert_inspected(job.checkpoint, earlier, mode, is_refused=isinstance(expected, str))
        before = len(written(job))
        send(job, record, record)
        # Only the first query chooses the number of state partitions.
        job.spark.conf.set("spark.sql.shuffle.partitions", "2" if earlier else "1")
        if isinstance(expected, str):
            with pytest.raises(QueryFailedError, match=expected):
                run_until(job, mode, before + 1)
        else:
            assert expected == run_until(job, mode, before + len(expected))[before:]
            earlier = mode
        # Only the first query creates the checkpoint; later queries use default settings.
        for key in confs:
            job.spark.conf.unset(key)
    assert len({path.name for path in job.checkpoint.glob("state/0/[0-9]*")}) <= 1


def test_override_accepts_checkpoint_of_old_format(job: ModeJob) -> None:
    job = replace(job, shapes=COUNTED)
    send(job, "a", "a")
    run_until(job, "micro-batch", 1)
    job.spark.conf.set("spark.sql.streaming.realTimeMode.dangerouslyAllowCheckpointV1.enabled", "true")
    send(job, "b", "b")

    assert ["2", "3", "4"] == run_until(job, "real-time", 3)


def test_position_needs_every_partition_of_the_topic(job: ModeJob) -> None:
    """Spark refuses a position without a partition that the topic has gained; `inspect` asks the broker and adds it."""
    send(job, "a")
    run_until(job, "micro-batch", 1)
    add_partition(job.kafka, job.source)
    [incomplete] = starting_offsets(str(job.checkpoint))
    [complete] = starting_offsets(str(job.checkpoint), Connection(job.kafka))
    moved = replace(job, checkpoint=job.checkpoint.with_name("new"))

    with pytest.raises(QueryFailedError, match=r"START_OFFSET_DOES_NOT_MATCH|specify all TopicPartitions"):
        run_until(replace(moved, starting_offsets=incomplete), "real-time", 2)
    moved = replace(job, checkpoint=job.checkpoint.with_name("complete"), starting_offsets=complete)

    assert ["a", "new"] == run_until(moved, "real-time", 2)
