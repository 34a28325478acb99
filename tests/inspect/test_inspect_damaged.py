"""Folders that `inspect` cannot inspect: other folders, damaged files, hostile files."""

import json
from pathlib import Path

import pytest

from tests.inspect.files import STARTED_MS, plan, run_inspect, write

FOREIGN: dict[str, tuple[list[str], str]] = {
    "empty": ([], "is empty, so no query has started here"),
    "never planned": (["metadata"], "ended before it planned its first batch"),
    "delta table": (
        ["_delta_log/0.json"],
        "contains _delta_log, but no offsets and no commits, so it is not a checkpoint",
    ),
    "iceberg table": (
        ["metadata/v1.metadata.json", "data/x"],
        "contains data, metadata, but no offsets and no commits",
    ),
    "several checkpoints": (["a/offsets/0", "b/offsets/0"], "contains 2 checkpoints; pass one of its folders: a, b"),
    "inside": (["0", "1", ".0.crc"], "is a part of a checkpoint; pass the folder above it"),
    "nothing planned": (["metadata", "offsets/.keep"], "contains no planned batch"),
}


@pytest.mark.parametrize(("paths", "message"), FOREIGN.values(), ids=FOREIGN)
def test_folder_that_is_not_a_checkpoint_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], paths: list[str], message: str
) -> None:
    for path in paths:
        write(tmp_path / path, '{"id":"x"}', STARTED_MS)

    status, out, err = run_inspect(capsys, tmp_path)

    assert (2, "") == (status, out)
    assert message in err
    assert str(tmp_path) in err


@pytest.mark.parametrize(("name", "message"), [("none", "does not exist"), ("file", "is a file, but a checkpoint is")])
def test_path_without_folder_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    (tmp_path / "file").touch()

    status, _, err = run_inspect(capsys, tmp_path / name)

    assert 2 == status
    assert message in err


DELETE_COMMIT = "delete it, and a restart runs batch 2 again"
DELETE_OFFSETS = "delete it, and a restart plans batch 3 again"
RESTORE = "restore it from a copy"
DAMAGED: dict[str, tuple[str, bytes, str, str]] = {
    "empty commit": ("commits/2", b"", "is empty", DELETE_COMMIT),
    "commit without content": ("commits/2", b"v2", "ends after its version", DELETE_COMMIT),
    "empty offsets": ("offsets/3", b"", "is empty", DELETE_OFFSETS),
    "half offsets": ("offsets/3", b'v1\n{}\n{"clicks":{"0":', "is not valid JSON", DELETE_OFFSETS),
    "unknown version": ("offsets/3", b"hello\n{}", "does not begin with a version", DELETE_OFFSETS),
    "bytes": ("offsets/3", b"\xff\xfe\0", "is not text", DELETE_OFFSETS),
    "committed offsets": ("offsets/2", b"", "is empty", RESTORE),
    "old commit": ("commits/0", b"", "is empty", RESTORE),
    "partitions": (
        "state/0/_metadata/metadata",
        b'v1\n{"operatorInfo":{"operatorName":"x"},"stateStoreInfo":[{"storeName":"x","numPartitions":1000000000000}]}',
        "states 1000000000000 partitions",
        RESTORE,
    ),
    "state": ("state/0/_metadata/metadata", b"v1\n{}", "does not describe a stateful operator", RESTORE),
}


@pytest.mark.parametrize(("path", "content", "problem", "remedy"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_file_is_named_with_its_remedy(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], path: str, content: bytes, problem: str, remedy: str
) -> None:
    if path == "offsets/3":
        plan(checkpoint, 3, ["{}"])
    (checkpoint / path).parent.mkdir(parents=True, exist_ok=True)
    (checkpoint / path).write_bytes(content)

    status, out, err = run_inspect(capsys, checkpoint)

    assert (2, "") == (status, out)
    assert f"{checkpoint} is damaged: {path} " in err
    assert problem in err
    assert remedy in err


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        ("batchTimestampMs", 10**30, 2),
        ("batchWatermarkMs", 2**62, 0),
        ("conf", [], 2),
        ("conf", {"spark.sql.shuffle.partitions": "many"}, 0),
    ],
)
def test_wrong_types_are_damage(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], field: str, value: object, status: int
) -> None:
    """A field of another type, or a number beyond 64 bits, is named; an unknown setting is not needed."""
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": STARTED_MS, "conf": {}, field: value}
    (checkpoint / "offsets/2").write_text(f'v1\n{json.dumps(metadata)}\n{{"clicks":{{"0":1}}}}')

    done, _, err = run_inspect(capsys, checkpoint)

    assert status == done, err
    assert (status == 2) == (f" as {field}; " in err)
