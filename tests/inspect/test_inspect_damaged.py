"""Folders that `inspect` cannot inspect: other folders, damaged files, hostile files."""

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
    "several checkpoints": (["a/offsets/0", "b/offsets/0"], "contains 2 checkpoints; pass one of its folders: a, b"),
    "storage of MinIO": (["metadata/xl.meta", "offsets/0/xl.meta"], "is a folder in which MinIO stores objects"),
    "inside": (["0", "1", ".0.crc"], "is a subfolder of a checkpoint; pass its parent folder"),
    "nothing planned": (["metadata", "offsets/.0.x.tmp"], "offsets/.0.x.tmp prevents the query from starting (STATE"),
    "only state": (["metadata", "state/0/0/1.delta"], "prevents the query from starting in micro-batch mode (STATE"),
    "commits without offsets": (
        ["metadata", "commits/0"],
        "commits/ has entries but offsets/ has none, so the query cannot start; restore offsets/",
    ),
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


DELETE_COMMIT = "delete the file; a restart then runs batch 2 again"
DELETE_OFFSETS = "delete the file; a restart then plans batch 3 again"
RESTORE = "restore the file from a backup"
DAMAGED: dict[str, tuple[str, bytes, str, str]] = {
    "empty commit": ("commits/2", b"", "is empty", DELETE_COMMIT),
    "half offsets": ("offsets/3", b'v1\n{}\n{"clicks":{"0":', "is not valid JSON", DELETE_OFFSETS),
    "bytes": ("offsets/3", b"\xff\xfe\0", "is not text", DELETE_OFFSETS),
    "committed offsets": ("offsets/2", b"", "is empty", RESTORE),
    "partitions": (
        "state/0/_metadata/metadata",
        b'v1\n{"operatorInfo":{"operatorName":"x"},"stateStoreInfo":[{"storeName":"x","numPartitions":1000000000000}]}',
        "contains 1000000000000 partitions",
        RESTORE,
    ),
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


def test_state_without_the_description_of_its_operator_is_named(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(checkpoint / "state/0/_stateSchema/default/0_x", "x", STARTED_MS)

    status, out, err = run_inspect(capsys, checkpoint)

    assert (2, "") == (status, out)
    assert f"{checkpoint} is damaged: state/0/_metadata is missing, so the query cannot start" in err
