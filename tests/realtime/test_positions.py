"""Positions are read from the files of a checkpoint; `tests/pages/test_migrate.py` uses real checkpoints."""

import json
from pathlib import Path

import pytest

from spark_rtm.realtime.positions import NO_BATCH, Position, committed_position

SETTINGS = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'


def write(checkpoint: Path, log: str, name: str, *lines: str) -> None:
    folder = checkpoint / log
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(lines))


def offsets(checkpoint: Path, batch_id: int, *sources: str) -> None:
    write(checkpoint, "offsets", str(batch_id), "v1", SETTINGS, *sources)


def test_newest_batch_with_commit_counts(tmp_path: Path) -> None:
    """Batch 10 counts: it is newer than 9, and 11 is only planned; files that are not entries are ignored."""
    for batch_id in (9, 10, 11):
        offsets(tmp_path, batch_id, f'{{"clicks":{{"0":{batch_id}}}}}', '{"rules":{"0":1}}')
    for name in ("9", "10", ".10.crc", "12.tmp"):
        write(tmp_path, "commits", name, "v1", "{}")

    position = committed_position(tmp_path)

    assert Position(10, ({"clicks": {"0": 10}}, {"rules": {"0": 1}})) == position
    assert {"rules": {"0": 1}} == json.loads(position.starting_offsets({"rules": 1}, source=1))


def test_without_commit_first_positions_count(tmp_path: Path) -> None:
    """Spark stores the first position of each source before the first batch; source 10 comes after source 2."""
    for source in (0, 2, 10):
        write(tmp_path, f"sources/{source}", "0", "\0v1", f'{{"clicks":{{"0":{source}}}}}')
    offsets(tmp_path, 0, '{"clicks":{"0":5}}')

    position = committed_position(tmp_path)

    assert Position(NO_BATCH, tuple({"clicks": {"0": source}} for source in (0, 2, 10))) == position


def test_added_partitions_and_topics_begin_at_first_record() -> None:
    """The Kafka source requires an offset for each partition, and replaces -2 with the first offset."""
    position = Position(3, ({"clicks": {"0": 7}},))

    assert {"clicks": {"0": 7, "1": -2}, "seeds": {"0": -2}} == json.loads(
        position.starting_offsets({"clicks": 2, "seeds": 1})
    )


@pytest.mark.parametrize("partitions", [{"clicks": 1}, {"seeds": 1}, {}], ids=["fewer", "other topic", "none"])
def test_partition_that_would_be_skipped_is_refused(partitions: dict[str, int]) -> None:
    """A topic that was created again can have fewer partitions than the checkpoint."""
    with pytest.raises(ValueError, match=r"partitions \[(0, )?1\] of topic 'clicks'.*would be skipped"):
        Position(3, ({"clicks": {"0": 7, "1": 8}},)).starting_offsets(partitions)


def test_unknown_format_source_or_folder_is_refused(tmp_path: Path) -> None:
    """A wrong path, another source than Kafka and a newer format raise errors instead of a wrong position."""
    with pytest.raises(ValueError, match="neither a commit nor a first position"):
        committed_position(tmp_path)

    write(tmp_path, "commits", "0", "v1", "{}")
    for line in ("7", "-", '{"a":1}'):
        offsets(tmp_path, 0, line)
        with pytest.raises(ValueError, match="not the offsets of a Kafka source"):
            committed_position(tmp_path)

    write(tmp_path, "offsets", "0", "v2", SETTINGS, "{}")
    with pytest.raises(ValueError, match="format 'v2'"):
        committed_position(tmp_path)
