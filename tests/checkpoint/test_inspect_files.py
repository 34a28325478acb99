"""What `inspect` reads in files: complete, damaged and foreign folders, without Spark."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import fsspec
import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts import skills
from scripts.checkpoint.inspection import inspect
from scripts.pack import files
from tests.checkpoint.files import INTERVAL_MS, STARTED_MS, commit, plan, write, write_checkpoint, write_state

SCHEMA = files.ROOT / "scripts/checkpoint/report.schema.json"
Damage = Callable[[Path], object]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Return a checkpoint with three committed batches in format 2."""
    return write_checkpoint(tmp_path / "checkpoint")


def _inspect(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = skills.main(["inspect", *map(str, arguments)])
    output = capsys.readouterr()
    return status, output.out, output.err


def _findings(checkpoint: Path) -> list[tuple[str, str]]:
    return [(finding.level, finding.text) for finding in inspect(str(checkpoint)).findings]


def _add_state(checkpoint: Path) -> None:
    write_state(checkpoint, "stateStoreSave", ["0/3_a.zip", "1/3_b.changelog"])
    commit(checkpoint, 2, 2, {"0": [["a"], ["b"]]})


FOREIGN: dict[str, tuple[list[str], str]] = {
    "empty": ([], "is empty, so no query has started here"),
    "never planned": (["metadata"], "ended before it planned its first batch"),
    "delta table": (["_delta_log/00000000000000000000.json"], "is a Delta table"),
    "file sink": (["_spark_metadata/0", "part-0.parquet"], "is the output of a file sink"),
    "iceberg table": (["metadata/v1.metadata.json", "data/x"], "is an Iceberg table"),
    "flink folder": (["chk-12/_metadata", "shared/x"], "is a folder of Flink checkpoints"),
    "kafka streams": (["kafka-streams-process-metadata"], "is the state directory of Kafka Streams"),
    "several checkpoints": (["a/offsets/0", "b/offsets/0"], "contains 2 checkpoints; name one of its folders: a, b"),
    "inside": (["0", "1", ".0.crc"], "is a part of a checkpoint; name the folder above it"),
    "photos": (["one.jpg", "two.jpg"], "contains no offsets and no commits (one.jpg, two.jpg)"),
    "nothing planned": (["metadata", "offsets/.keep"], "contains no planned batch"),
}


@pytest.mark.parametrize(("paths", "message"), FOREIGN.values(), ids=FOREIGN)
def test_folder_that_is_no_checkpoint_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], paths: list[str], message: str
) -> None:
    """The answer says what the folder is instead, on standard error, with status 2."""
    for path in paths:
        write(tmp_path / path, '{"id":"x"}', STARTED_MS)

    status, out, err = _inspect(capsys, tmp_path)

    assert (2, "") == (status, out)
    assert message in err
    assert str(tmp_path) in err


def test_flink_savepoint_is_recognised_by_its_first_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A savepoint has no folder with a telling name, but its file begins with a fixed number."""
    (tmp_path / "_metadata").write_bytes(bytes.fromhex("4960672d") + b"\0\0\0\3")

    assert "is a Flink checkpoint or savepoint" in _inspect(capsys, tmp_path)[2]


@pytest.mark.parametrize(("name", "message"), [("none", "does not exist"), ("file", "is a file, but a checkpoint is")])
def test_path_without_folder_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    """A missing path and a file are wrong usage."""
    (tmp_path / "file").touch()

    status, _, err = _inspect(capsys, tmp_path / name)

    assert 2 == status
    assert message in err


PATHS = ["metadata", "offsets/2", "offsets/1", "commits/2", "sources/0/0", "state/0/_metadata/metadata"]
KEYS = [
    "0", "id", "clicks", "batchTimestampMs", "batchWatermarkMs", "conf", "stateUniqueIds", "operatorInfo",
    "operatorName", "stateStoreInfo", "storeName", "numPartitions", "spark.sql.shuffle.partitions",
]  # fmt: skip
DELETE_COMMIT = "delete it, and a restart runs batch 2 again"
DELETE_OFFSETS = "delete it, and a restart plans batch 3 again"
RESTORE = "restore it from a copy"
DAMAGED: dict[str, tuple[str, bytes, str, str]] = {
    "empty commit": ("commits/2", b"", "is empty", DELETE_COMMIT),
    "commit without content": ("commits/2", b"v2", "ends after its version", DELETE_COMMIT),
    "commit that is no object": ("commits/2", b"v2\n[]", "instead of a JSON object", DELETE_COMMIT),
    "empty offsets": ("offsets/3", b"", "is empty", DELETE_OFFSETS),
    "half offsets": ("offsets/3", b'v1\n{}\n{"clicks":{"0":', "is not complete JSON", DELETE_OFFSETS),
    "offsets without sources": ("offsets/3", b"v1\n{}", "ends before the offsets of the first source", DELETE_OFFSETS),
    "unknown version": ("offsets/3", b"hello\n{}", "begins with 'hello' instead of a version", DELETE_OFFSETS),
    "bytes": ("offsets/3", b"\xff\xfe\0", "is not text", DELETE_OFFSETS),
    "committed offsets": ("offsets/2", b"", "is empty", RESTORE),
    "old commit": ("commits/0", b"", "is empty", RESTORE),
    "query id": ("metadata", b"{", "is not complete JSON", RESTORE),
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
    """One damaged file gives status 2, its path, the problem and what to do."""
    if path == "offsets/3":
        plan(checkpoint, 3, ["{}"])
    (checkpoint / path).parent.mkdir(parents=True, exist_ok=True)
    (checkpoint / path).write_bytes(content)

    status, out, err = _inspect(capsys, checkpoint)

    assert (2, "") == (status, out)
    assert f"{checkpoint} is damaged: {path} " in err
    assert problem in err
    assert remedy in err


def test_sound_checkpoint_has_status_zero(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a problem the status is 0, and the report goes to standard output."""
    status, out, err = _inspect(capsys, checkpoint)

    assert (0, "") == (status, err)
    assert "micro-batch (batches 0 to 2): the offsets were written when the batch began" in out
    assert "5.0 s between batches" in out


def test_temporary_files_are_a_note(checkpoint: Path) -> None:
    """A half-written entry has a temporary name, and Spark ignores it."""
    write(checkpoint / "offsets/.3.0f8fad5b-d9cb.tmp", "v1", STARTED_MS)

    [(level, text)] = _findings(checkpoint)

    assert "note" == level
    assert "offsets/ contains 1 temporary files" in text


def test_planned_batch_is_a_note(tmp_path: Path) -> None:
    """A planned batch without commit is normal while a query runs; the report counts its records."""
    report = inspect(str(write_checkpoint(tmp_path, planned=1)))

    assert (2, 3) == (report.last_committed, report.last_planned)
    assert 10 == report.replay.records
    assert [("note", True)] == [
        (each.level, "batch 3 is planned but not committed" in each.text) for each in report.findings
    ]


def test_commit_without_offsets_is_a_problem(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A committed batch whose offsets are missing gives status 1; the position is that of the batch before."""
    (checkpoint / "offsets/2").unlink()

    status, out, _ = _inspect(capsys, checkpoint)

    assert 1 == status
    assert "problem     batch 2 is committed, but offsets/2 is missing" in out
    assert "last committed 1" in out


STATE_FILES: dict[str, tuple[list[str], object, list[str]]] = {
    "complete": (["0/3_a.changelog", "1/3_b.zip"], {"0": [["a"], ["b"]]}, []),
    "one missing": (["0/3_a.changelog"], {"0": [["a"], ["b"]]}, ["state/0/1"]),
    "other id": (["0/3_a.changelog", "1/3_c.zip"], {"0": [["a"], ["b"]]}, ["state/0/1"]),
    "older version": (["0/3_a.changelog", "1/2_b.zip"], {"0": [["a"], ["b"]]}, ["state/0/1"]),
    "format 1": (["0/3.delta", "1/3.snapshot"], None, []),
    "format 1, missing": (["0/3.delta", "1/30.delta"], None, ["state/0/1"]),
}


@pytest.mark.parametrize(("names", "ids", "missing"), STATE_FILES.values(), ids=STATE_FILES)
def test_missing_state_of_last_batch_is_a_problem(
    checkpoint: Path, names: list[str], ids: object, missing: list[str]
) -> None:
    """The state after batch 2 has version 3, and the commit log names its files in format 2."""
    write_state(checkpoint, "stateStoreSave", names)
    commit(checkpoint, 2, 2 if ids else 1, ids)

    report = inspect(str(checkpoint))

    assert missing == list(report.operators[0].missing)
    assert bool(missing) == report.has_problem


def test_new_layout_of_operator_metadata_is_read(checkpoint: Path) -> None:
    """`transformWithState` writes one metadata file per change; the newest counts."""
    content = (
        '{{"operatorInfo":{{"operatorName":"{}"}},"stateStoreInfo":[{{"storeName":"default","numPartitions":4}}]}}'
    )
    for number, name in ((0, "old"), (12, "transformWithStateExec")):
        write(checkpoint / f"state/0/_metadata/v2/{number}", "v2\n" + content.format(name), STARTED_MS)

    [operator] = inspect(str(checkpoint)).operators

    assert ("transformWithStateExec", 4) == (operator.name, operator.partitions)


@pytest.mark.parametrize(
    ("version", "delay_ms", "mode"),
    [
        (2, 20, "micro-batch"),
        (2, 2900, "real-time"),
        (1, 20, "micro-batch or async progress tracking"),
        (1, 2900, "micro-batch or async progress tracking"),
    ],
)
def test_time_of_the_offsets_tells_the_mode(tmp_path: Path, version: int, delay_ms: int, mode: str) -> None:
    """In real-time mode the offsets are written when a batch ends, and in other modes when it begins."""
    write_checkpoint(tmp_path, version=version)
    for batch in range(3):
        plan(tmp_path, batch, ['{"clicks":{"0":1}}'], delay_ms=delay_ms)

    assert [mode] == [span.mode for span in inspect(str(tmp_path)).modes]


def test_copied_files_do_not_tell_the_mode(checkpoint: Path) -> None:
    """If `metadata` is newer than the batches, all times are those of the copy."""
    os.utime(checkpoint / "metadata")

    [span] = inspect(str(checkpoint)).modes

    assert "real-time or micro-batch" == span.mode
    assert "not original" in span.evidence


def test_missing_batches_tell_async_progress_tracking(tmp_path: Path) -> None:
    """With async progress tracking, only some batches are in the logs."""
    write_checkpoint(tmp_path, version=1)
    for log in ("offsets", "commits"):
        (tmp_path / log / "1").unlink()

    assert ["async progress tracking"] == [span.mode for span in inspect(str(tmp_path)).modes]


def test_silent_real_time_query_is_a_note(tmp_path: Path) -> None:
    """Real-time mode commits at a steady pace, so a long silence means that the query does not run."""
    write_checkpoint(tmp_path)
    for batch in range(3):
        plan(tmp_path, batch, ['{"clicks":{"0":1}}'], delay_ms=2900)

    [(level, text)] = _findings(tmp_path)

    assert "note" == level
    assert "the query has stopped or hangs" in text


def test_logs_that_are_not_purged_are_a_note(tmp_path: Path) -> None:
    """Spark retains 100 entries of each log by default."""
    assert 2 == sum("but Spark retains 100" in text for _, text in _findings(write_checkpoint(tmp_path, batches=201)))


@pytest.mark.parametrize(
    ("operator", "offsets", "reason"),
    [
        ("symmetricHashJoin", '{"clicks":{"0":1}}', "stream-stream join (symmetricHashJoin)"),
        ("stateStoreSave", "1795500033408", "the offsets of source 0 are not those of Kafka"),
        ("stateStoreSave", '{"logOffset":3}', "the offsets of source 0 are not those of Kafka"),
    ],
    ids=["join", "rate", "files"],
)
def test_query_that_real_time_mode_refuses_is_named(checkpoint: Path, operator: str, offsets: str, reason: str) -> None:
    """State and offsets show operators and sources that real-time mode of OSS 4.3.0 refuses."""
    write_state(checkpoint, operator, [])
    plan(checkpoint, 2, [offsets])

    move = inspect(str(checkpoint)).real_time

    assert not move.is_possible
    assert reason in move.reason


STARTING: dict[str, tuple[int, list[str], list[str]]] = {
    "last committed, not planned": (3, [], ['{"clicks": {"0": 30}}']),
    "nothing committed": (0, [], ['{"clicks": {"0": 0}}']),
    "two sources": (2, ['{"a":{"0":1}}', '{"b":{"0":2,"1":-2}}'], ['{"a": {"0": 1}}', '{"b": {"0": 2, "1": -2}}']),
    "one source without offsets": (2, ["-", '{"b":{"0":2}}'], ['{"b": {"0": 2}}']),
}


@pytest.mark.parametrize(("committed", "sources", "expected"), STARTING.values(), ids=STARTING)
def test_starting_offsets_are_those_of_the_last_commit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], committed: int, sources: list[str], expected: list[str]
) -> None:
    """The output is only JSON, one line for each Kafka source, and ignores the planned batch."""
    write_checkpoint(tmp_path, committed, planned=1)
    if sources:
        plan(tmp_path, committed - 1, sources)

    assert (0, "\n".join(expected) + "\n", "") == _inspect(capsys, tmp_path, "--as-starting-offsets")


def test_starting_offsets_need_kafka(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other sources have no `startingOffsets`."""
    write_checkpoint(tmp_path)
    plan(tmp_path, 2, ["1795500033408"])

    status, out, err = _inspect(capsys, tmp_path, "--as-starting-offsets")

    assert (2, "") == (status, out)
    assert "contains no committed offsets of Kafka" in err


def test_json_matches_its_schema(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The schema describes each field, and refuses a report without one of them."""
    _add_state(checkpoint)
    plan(checkpoint, 3, ['{"clicks":{"0":40}}'])
    schema = json.loads(SCHEMA.read_text())

    content = json.loads(_inspect(capsys, checkpoint, "--format", "json")[1])

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(content, schema)
    for field in content:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({key: value for key, value in content.items() if key != field}, schema)


def test_control_characters_are_escaped(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names in a checkpoint cannot send commands to the terminal."""
    plan(checkpoint, 2, [json.dumps({"\x1b[2Jclicks": {"0": 1}})])

    out = _inspect(capsys, checkpoint)[1]

    assert "\x1b" not in out
    assert "\\x1b[2Jclicks" in out


def _snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    paths = sorted(folder.rglob("*"))
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *paths]
    }


READ_ONLY = """
import sys, os
def refuse(event, arguments):
    writes = event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    if writes or event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.utime", "os.chmod"):
        os._exit(99)
    if event in ("subprocess.Popen", "socket.connect"):
        os._exit(98)
sys.path.insert(0, sys.argv.pop(1))
from scripts import skills
sys.addaudithook(refuse)
sys.exit(skills.main(sys.argv[1:]))
"""


HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda values: st.lists(values, max_size=2) | st.dictionaries(st.sampled_from(KEYS), values, max_size=4),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(path=st.sampled_from(PATHS), values=st.lists(HOSTILE, max_size=2), cut=st.integers(0, 400))
def test_any_content_gives_a_report_or_a_clear_answer(path: str, values: list[object], cut: int) -> None:
    """Damaged and hostile files never end in a traceback."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = write_checkpoint(Path(folder))
        _add_state(checkpoint)
        text = "\n".join(["v1", *map(json.dumps, values)]) if values else (checkpoint / path).read_text()[:cut]
        (checkpoint / path).write_text(text)

        assert skills.main(["inspect", folder]) in {0, 1, 2}
        assert skills.main(["inspect", folder, "--as-starting-offsets"]) in {0, 2}


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        ("batchTimestampMs", 10**30, 2),
        ("batchTimestampMs", True, 2),
        ("batchWatermarkMs", 2**62, 0),
        ("batchWatermarkMs", "0", 2),
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

    done, _, err = _inspect(capsys, checkpoint)

    assert status == done, err
    assert (status == 2) == (f" as {field}; " in err)


@pytest.mark.parametrize("option", ["--format=text", "--format=json", "--as-starting-offsets"])
def test_nothing_is_written_and_no_package_is_needed(checkpoint: Path, option: str) -> None:
    """Python itself refuses each write, and has no packages; the folder is read-only, and equal afterwards."""
    _add_state(checkpoint)
    for path in (checkpoint, *checkpoint.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = _snapshot(checkpoint)

    command = [sys.executable, "-I", "-S", "-B", "-c", READ_ONLY, str(files.ROOT), "inspect", str(checkpoint), option]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert (0, "") == (done.returncode, done.stderr)
    assert before == _snapshot(checkpoint)


def test_write_would_be_refused(tmp_path: Path) -> None:
    """The check above can fail."""
    code = READ_ONLY.replace("sys.exit(skills", f"open({str(tmp_path / 'x')!r}, 'w'); sys.exit(skills")
    command = [sys.executable, "-I", "-S", "-B", "-c", code, str(files.ROOT), "inspect", str(tmp_path)]

    assert 99 == subprocess.run(command, capture_output=True, check=False, timeout=60).returncode


def test_object_store_gives_the_same_report(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report of a checkpoint in a store of fsspec differs only in its address and in what times tell."""
    _add_state(checkpoint)
    store = fsspec.filesystem("memory")
    store.put(str(checkpoint), "/bucket/clicks", recursive=True)

    local = json.loads(_inspect(capsys, checkpoint, "--format", "json")[1])
    status, out, _ = _inspect(capsys, "memory://bucket/clicks", "--format", "json")
    remote = json.loads(out)

    for report in (local, remote):
        for field in ("checkpoint", "last_commit_seconds", "modes", "replay"):
            del report[field]
    assert 0 == status
    assert local == remote


@pytest.mark.parametrize("name", ["memory://bucket/none", "memory://none"])
def test_missing_folder_in_a_store_is_named(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """A store has no empty folders, so a missing one is the usual mistake."""
    fsspec.filesystem("memory").pipe("/bucket/clicks/metadata", b"{}")

    status, _, err = _inspect(capsys, name)

    assert 2 == status
    assert f"{name} does not exist or is empty" in err


def test_object_store_without_fsspec_names_the_package(tmp_path: Path) -> None:
    """A bare Python says what to install."""
    command = [sys.executable, "-I", "-S", str(files.ROOT / "scripts/skills.py"), "inspect", "s3://bucket/clicks"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert 2 == done.returncode
    assert "pip install fsspec" in done.stderr


def test_file_url_is_a_local_folder(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A URL with the scheme `file` needs no package."""
    assert 0 == _inspect(capsys, f"file://{checkpoint}")[0]


def test_unreachable_broker_is_named(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an answer of the broker there is no report."""
    monkeypatch.setattr("scripts.checkpoint.broker.TIMEOUT_SECONDS", 0.2)

    status, out, err = _inspect(capsys, checkpoint, "--bootstrap-servers", "127.0.0.1:1")

    assert (2, "") == (status, out)
    assert "Kafka at 127.0.0.1:1 gave no answer" in err


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        (["--bootstrap-servers", "127.0.0.1:1"], "# login\nsecurity.protocl = SSL\n", 'property: "security.protocl"'),
        (["--bootstrap-servers", "127.0.0.1:1"], None, "cannot read --command-config"),
        ([], "", "--command-config has no effect without --bootstrap-servers"),
    ],
    ids=["unknown property", "missing file", "no servers"],
)
def test_wrong_client_properties_are_named(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], content: str | None, message: str
) -> None:
    """A mistake in the properties of the client gives status 2 and no report."""
    config = checkpoint.with_name("client.properties")
    if content is not None:
        config.write_text(content)

    status, out, err = _inspect(capsys, checkpoint, *arguments, "--command-config", config)

    assert (2, "") == (status, out)
    assert message in err


def test_copy_of_a_checkpoint_can_be_inspected(checkpoint: Path, tmp_path: Path) -> None:
    """The times of batches come from the logs, so a copy without original times still has a pace."""
    copy = shutil.copytree(checkpoint, tmp_path / "copy", copy_function=shutil.copy)

    pace = inspect(str(copy)).pace

    assert pace is not None
    assert INTERVAL_MS / 1000 == pace.median_seconds
