"""The page on execution modes: which checkpoint moves to which mode, and how a position moves where none can."""

from dataclasses import replace
from pathlib import Path

import pytest

from examples.realtime.slots import QueryFailedError
from tests.pages.jobs import FORMAT, PROVIDER, Job, Mode, run_until, send, written

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(180)]

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PREPARED = {FORMAT: "2", PROVIDER: ROCKSDB}
REFUSED_V1 = "STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED"

MOVES: dict[str, tuple[str, dict[str, str], list[tuple[Mode, str | list[str]]]]] = {
    "stateless, as it comes": ("stateless", {}, [("micro-batch", ["a"]), ("real-time", REFUSED_V1)]),
    "stateless, prepared": (
        "stateless",
        {FORMAT: "2"},
        [("micro-batch", ["a"]), ("real-time", ["b", "b"]), ("async progress", ["c"]), ("real-time", ["d", "d"])],
    ),
    "async, as it comes": ("stateless", {}, [("async progress", ["a"]), ("real-time", REFUSED_V1)]),
    "async, prepared": ("stateless", {FORMAT: "2"}, [("async progress", ["a"]), ("real-time", ["b", "b"])]),
    "continuous, prepared in vain": ("stateless", PREPARED, [("continuous", ["a"]), ("real-time", REFUSED_V1)]),
    "continuous, to micro-batch": ("stateless", {}, [("continuous", ["a"]), ("micro-batch", "WatermarkTracker")]),
    "real-time, to continuous": (
        "stateless",
        {},
        [("real-time", ["a"]), ("continuous", ["b"]), ("real-time", REFUSED_V1)],
    ),
    "stateful, as it comes": ("counted", {}, [("micro-batch", ["2"]), ("real-time", REFUSED_V1)]),
    "stateful, RocksDB only": ("counted", {PROVIDER: ROCKSDB}, [("micro-batch", ["2"]), ("real-time", REFUSED_V1)]),
    "stateful, format only": ("counted", {FORMAT: "2"}, [("micro-batch", "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED")]),
    "stateful, prepared": (
        "counted",
        PREPARED,
        [("micro-batch", ["2"]), ("real-time", ["3", "4"]), ("micro-batch", ["6"]), ("real-time", ["7", "8"])],
    ),
    "stateful, real-time first": ("counted", {}, [("real-time", ["1", "2"]), ("micro-batch", ["4"])]),
}


def committed_position(checkpoint: Path) -> str:
    """Return where the only source of a query stood at its newest commit, as JSON for `startingOffsets`."""
    logs = [{int(file.name) for file in (checkpoint / log).glob("[0-9]*")} for log in ("commits", "offsets")]
    newest_commit = max(set.intersection(*logs))
    return (checkpoint / "offsets" / str(newest_commit)).read_text().splitlines()[-1]


@pytest.mark.parametrize(("shape", "confs", "steps"), MOVES.values(), ids=MOVES)
def test_checkpoint_moves_only_where_its_format_allows(
    job: Job, shape: str, confs: dict[str, str], steps: list[tuple[Mode, str | list[str]]]
) -> None:
    """A move loses and repeats nothing and keeps the counts, or it is refused; two records arrive before each step."""
    job = replace(job, shape=shape)
    for key, value in confs.items():
        job.spark.conf.set(key, value)
    for number, (mode, expected) in enumerate(steps):
        before = len(written(job))
        send(job, *["abcd"[number]] * 2)
        if isinstance(expected, str):
            with pytest.raises(QueryFailedError, match=expected):
                run_until(job, mode, before + 1)
        else:
            values = run_until(job, mode, before + (2 if shape == "stateless" else len(expected)))
            assert (expected * 2)[:2] if shape == "stateless" else expected == values[before:]
        # Only the first query creates the checkpoint; what comes later has the settings of anybody.
        for key in confs:
            job.spark.conf.unset(key)


def test_override_takes_a_checkpoint_of_the_old_format(job: Job) -> None:
    """Whoever accepts the risk of losing data on a failure goes on with the old state."""
    job = replace(job, shape="counted")
    send(job, "a", "a")
    run_until(job, "micro-batch", 1)
    job.spark.conf.set("spark.sql.streaming.realTimeMode.dangerouslyAllowCheckpointV1.enabled", "true")
    send(job, "b", "b")

    assert ["2", "3", "4"] == run_until(job, "real-time", 3)


@pytest.mark.parametrize("mode", ["micro-batch", "async progress", "continuous"])
def test_position_handed_to_a_new_checkpoint_neither_loses_nor_repeats(job: Job, mode: Mode) -> None:
    """Where a checkpoint cannot move, its last committed position can: the new query goes on behind it."""
    send(job, "a", "b")
    run_until(job, mode, 2)
    send(job, "c")
    position = committed_position(job.checkpoint)
    moved = replace(job, checkpoint=job.checkpoint.with_name("new"), starting_offsets=position)

    values = run_until(moved, "real-time", 3)

    assert ["a", "b", "c"] == values
