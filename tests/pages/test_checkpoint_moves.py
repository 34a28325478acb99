"""Checkpoints between execution modes; `test_migrate.py` moves only their position."""

from dataclasses import replace
from pathlib import Path

import pytest

from spark_rtm.inspect.broker import Connection
from spark_rtm.inspect.inspection import inspect, starting_offsets
from spark_rtm.realtime.queries import QueryFailedError
from tests.helpers import add_partition
from tests.pages.jobs import FORMAT, PREPARED, PROVIDER, ROCKSDB, Mode, ModeJob, run_until, send, written

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(180)]

REFUSED_V1 = "STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED"

MOVES: dict[str, tuple[str, dict[str, str], list[tuple[Mode, str | list[str]]]]] = {
    "stateless, default settings": ("stateless", {}, [("micro-batch", ["a"]), ("real-time", REFUSED_V1)]),
    "stateless, format 2": (
        "stateless",
        {FORMAT: "2"},
        [("micro-batch", ["a"]), ("real-time", ["b", "b"]), ("async progress", ["c"]), ("real-time", ["d", "d"])],
    ),
    "async, default settings": ("stateless", {}, [("async progress", ["a"]), ("real-time", REFUSED_V1)]),
    "async, format 2": ("stateless", {FORMAT: "2"}, [("async progress", ["a"]), ("real-time", ["b", "b"])]),
    "continuous, RocksDB and format 2": ("stateless", PREPARED, [("continuous", ["a"]), ("real-time", REFUSED_V1)]),
    "continuous, to micro-batch": ("stateless", {}, [("continuous", ["a"]), ("micro-batch", "WatermarkTracker")]),
    "continuous, to async": ("stateless", {}, [("continuous", ["a"]), ("async progress", "WatermarkTracker")]),
    "real-time, to continuous": (
        "stateless",
        {},
        [("real-time", ["a"]), ("continuous", ["b"]), ("real-time", REFUSED_V1)],
    ),
    "stateful, default settings": ("counted", {}, [("micro-batch", ["2"]), ("real-time", REFUSED_V1)]),
    "stateful, RocksDB only": ("counted", {PROVIDER: ROCKSDB}, [("micro-batch", ["2"]), ("real-time", REFUSED_V1)]),
    "stateful, format only": ("counted", {FORMAT: "2"}, [("micro-batch", "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED")]),
    "stateful, RocksDB and format 2": (
        "counted",
        PREPARED,
        [("micro-batch", ["2"]), ("real-time", ["3", "4"]), ("micro-batch", ["6"]), ("real-time", ["7", "8"])],
    ),
    "stateful, real-time first": ("counted", {}, [("real-time", ["1", "2"]), ("micro-batch", ["4"])]),
}


def assert_inspected(checkpoint: Path, earlier: Mode, mode: Mode, *, is_refused: bool) -> None:
    """Check that `skills.py inspect` names the mode of a checkpoint, and whether another mode continues it."""
    report = inspect(str(checkpoint))
    moves = {"real-time": report.real_time, "micro-batch": report.micro_batch}
    assert earlier in report.modes[-1].mode
    if mode in moves:
        assert is_refused != moves[mode].is_possible, moves[mode].reason


@pytest.mark.parametrize(("shape", "confs", "steps"), MOVES.values(), ids=MOVES)
def test_checkpoint_moves_only_if_its_format_allows(
    job: ModeJob, shape: str, confs: dict[str, str], steps: list[tuple[Mode, str | list[str]]]
) -> None:
    job = replace(job, shape=shape)
    for key, value in confs.items():
        job.spark.conf.set(key, value)
    for number, (mode, expected) in enumerate(steps):
        if number:
            assert_inspected(job.checkpoint, steps[number - 1][0], mode, is_refused=isinstance(expected, str))
        before = len(written(job))
        send(job, *["abcd"[number]] * 2)
        if isinstance(expected, str):
            with pytest.raises(QueryFailedError, match=expected):
                run_until(job, mode, before + 1)
        else:
            values = run_until(job, mode, before + (2 if shape == "stateless" else len(expected)))
            assert (expected * 2)[:2] if shape == "stateless" else expected == values[before:]
        # Only the first query creates the checkpoint; later queries use default settings.
        for key in confs:
            job.spark.conf.unset(key)


def test_override_accepts_checkpoint_of_old_format(job: ModeJob) -> None:
    job = replace(job, shape="counted")
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
