import json
import os
from pathlib import Path

import jsonschema
import pytest

from scripts.pack import files
from spark_rtm.inspect.findings import of_broker
from spark_rtm.inspect.inspection import inspect
from spark_rtm.inspect.report import PartitionState
from tests.inspect.files import (
    INTERVAL_MS,
    STARTED_MS,
    add_state,
    commit,
    plan,
    run_inspect,
    write,
    write_checkpoint,
    write_state,
)

SCHEMA = files.ROOT / "spark_rtm/inspect/report.schema.json"


def _findings(checkpoint: Path) -> list[tuple[str, str]]:
    return [(finding.level, finding.text) for finding in inspect(str(checkpoint)).findings]


def test_sound_checkpoint_has_status_zero(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a problem, the status is 0 and the report is on standard output."""
    status, out, err = run_inspect(capsys, checkpoint)

    assert (0, "") == (status, err)
    assert "micro-batch (batches 0 to 2): the offsets were written when the batch began" in out
    assert "5.0 s between batches" in out


def test_report_states_the_size_of_the_changes_per_batch(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the two batches with files, one has 100 bytes of changes, and the other one only a snapshot."""
    add_state(checkpoint)

    expected = "stateStoreSave, 2 partitions, 4 files, 461 B, versions 2 to 3, 50 B of changes per batch\n"
    assert expected in run_inspect(capsys, checkpoint)[1]


def test_temporary_files_are_a_note(checkpoint: Path) -> None:
    """A half-written entry has a temporary name, and Spark ignores it."""
    write(checkpoint / "offsets/.3.0f8fad5b-d9cb.tmp", "v1", STARTED_MS)

    [(level, text)] = _findings(checkpoint)

    assert "note" == level
    assert "offsets/ contains 1 temporary files" in text


def test_new_layout_of_operator_metadata_is_read(checkpoint: Path) -> None:
    """`transformWithState` writes one metadata file per change; the newest counts."""
    content = (
        '{{"operatorInfo":{{"operatorName":"{}"}},"stateStoreInfo":[{{"storeName":"default","numPartitions":4}}]}}'
    )
    for number, name in ((0, "old"), (12, "transformWithStateExec")):
        write(checkpoint / f"state/0/_metadata/v2/{number}", "v2\n" + content.format(name), STARTED_MS)

    [operator] = inspect(str(checkpoint)).operators

    assert ("transformWithStateExec", 4) == (operator.name, operator.partitions)


def test_copied_files_do_not_show_the_mode(checkpoint: Path) -> None:
    """
    If `metadata` is newer than the batches, all times come from the copy.

    In that case, the interval between batches comes from the logs.
    """
    os.utime(checkpoint / "metadata")

    report = inspect(str(checkpoint))

    [span] = report.modes
    assert "real-time or micro-batch" == span.mode
    assert "their original times" in span.evidence
    assert report.pace
    assert INTERVAL_MS / 1000 == report.pace.median_seconds


def test_missing_batches_show_async_progress_tracking(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, batches=4, version=1)
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
        ("stateStoreSave", "1795500033408", "source 0 has no Kafka offsets"),
    ],
    ids=["join", "rate"],
)
def test_query_that_real_time_mode_refuses_is_named(checkpoint: Path, operator: str, offsets: str, reason: str) -> None:
    """The state and the offsets show operators and sources that real-time mode of OSS 4.3.0 does not support."""
    write_state(checkpoint, operator, ["0/3_a.zip", "1/3_b.zip"])
    commit(checkpoint, 2, 2, {"0": [["a"], ["b"]]})
    for batch in range(3):
        plan(checkpoint, batch, [offsets])

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
    write_checkpoint(tmp_path, committed, planned=1)
    if sources:
        plan(tmp_path, committed - 1, sources)

    assert (0, "\n".join(expected) + "\n", "") == run_inspect(capsys, tmp_path, "--as-starting-offsets")


def test_starting_offsets_need_kafka(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other sources have no `startingOffsets`."""
    write_checkpoint(tmp_path)
    plan(tmp_path, 2, ["1795500033408"])

    status, out, err = run_inspect(capsys, tmp_path, "--as-starting-offsets")

    assert (2, "") == (status, out)
    assert "contains no committed Kafka offsets" in err
    write_checkpoint(tmp_path / "began", 0, planned=1)
    write(tmp_path / "began/sources/0/0", "\0v1", STARTED_MS)
    assert (2, "") == run_inspect(capsys, tmp_path / "began", "--as-starting-offsets")[:2]


def test_json_matches_its_schema(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_state(checkpoint)
    plan(checkpoint, 3, ['{"clicks":{"0":40}}'])
    schema = json.loads(SCHEMA.read_text())

    content = json.loads(run_inspect(capsys, checkpoint, "--format", "json")[1])

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(content, schema)
    for field in content:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({key: value for key, value in content.items() if key != field}, schema)


def test_check_of_the_start_is_a_problem(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If a check of Spark fails in both modes, neither mode can continue; `test_inspect_start.py` tries each check."""
    (checkpoint / "offsets/.2.crc").write_bytes(b"crc\0" + (512).to_bytes(4) + bytes(4))

    status, out, _ = run_inspect(capsys, checkpoint)

    assert 1 == status
    assert "neither mode can continue: Checksum error: offsets/2 does not match offsets/.2.crc" in out
    assert "delete offsets/.2.crc" in out
    assert "yes" not in out


POSITIONS: dict[str, tuple[int | None, str, str, str]] = {
    "beyond the end": (15, "problem", "ends at 12, before the committed offset 15: the topic was created", "new check"),
    "before the start": (3, "problem", "the broker has deleted 7 records", "once with trigger(availableNow=True)"),
    "new": (None, "note", "partition 0 of topic clicks is new: no committed batch contains it (lag 2)", ""),
}


@pytest.mark.parametrize(("committed", "level", "text", "remedy"), POSITIONS.values(), ids=POSITIONS)
def test_position_outside_the_topic_is_named(committed: int | None, level: str, text: str, remedy: str) -> None:
    [finding] = of_broker([PartitionState("clicks", 0, committed, committed, first=10, end=12, lag=2)])

    assert level == finding.level
    assert text in finding.text
    assert remedy in finding.remedy


def test_prepared_transactions_are_listed_by_batch(checkpoint: Path) -> None:
    for name in ("0-2-1-7-0", "1-2-1-7-0", "0-3-1-7-0", "prefix"):
        write(checkpoint / "transactions" / name, "v1\n", STARTED_MS)

    texts = [finding.text for finding in inspect(str(checkpoint)).findings if "transactions" in finding.text]

    ends = {
        2: "0, 1, which the query commits when it starts again",
        3: "0, which the query aborts when it starts again, because the batch is not committed",
    }
    assert [f"batch {batch} has prepared transactions of partitions {end}" for batch, end in ends.items()] == texts
