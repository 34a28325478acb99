import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from scripts import skills
from scripts.pack import files
from spark_rtm.inspect.broker import Connection
from spark_rtm.inspect.inspection import inspect, starting_offsets
from spark_rtm.inspect.report import Report
from spark_rtm.services.child import start_child, wait_until_ready
from spark_rtm.text import markdown
from tests.inspect.files import write_checkpoint
from tests.inspect.queries import READY, SLOW_PARTITIONS, STARVED_PARTITIONS

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]

PAGE = files.ROOT / "references/inspect.md"
V1 = "STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED"


@dataclass(frozen=True)
class Written:
    kafka: str
    folder: Path
    topics: dict[str, list[str]]

    def report(self, name: str, *, with_broker: bool = False) -> Report:
        return inspect(str(self.folder / name), Connection(self.kafka) if with_broker else None)


@pytest.fixture(scope="module")
def written(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    folder = tmp_path_factory.mktemp("checkpoints")
    command = [sys.executable, "-m", "tests.inspect.queries", kafka, str(folder)]
    env = os.environ | {"PYTHONPATH": str(files.ROOT)}
    child = start_child("queries", command, log_path=folder / "queries.log", env=env)
    wait_until_ready(child, (folder / READY).exists, 240)
    child.kill()
    topics = json.loads((folder / READY).read_text())
    yield Written(kafka, folder, topics)
    AdminClient({"bootstrap.servers": kafka}).delete_topics([topic for each in topics.values() for topic in each])


# mode of the last batches, formats of commit and offset log, state store, real-time mode may continue, micro-batch mode
EXPECTED: dict[str, tuple[str, int, str | None, bool, bool]] = {
    "micro-batch": ("micro-batch or async progress tracking", 1, "HDFSBackedStateStoreProvider", False, True),
    "micro-batch-state": ("micro-batch", 1, "HDFSBackedStateStoreProvider", False, True),
    "async": ("async progress tracking", 1, "HDFSBackedStateStoreProvider", False, True),
    "continuous": ("continuous", 1, None, False, False),
    "real-time": ("real-time", 2, "RocksDBStateStoreProvider", True, True),
    "grown": ("real-time", 2, "RocksDBStateStoreProvider", True, True),
    "moved": ("real-time", 2, "RocksDBStateStoreProvider", True, True),
    "two-sources": ("micro-batch or async progress tracking", 1, "HDFSBackedStateStoreProvider", False, True),
    "killed": ("micro-batch or async progress tracking", 1, "HDFSBackedStateStoreProvider", False, True),
    "starved": ("real-time", 2, "RocksDBStateStoreProvider", True, True),
}


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items(), ids=EXPECTED)
def test_mode_format_and_moves(written: Written, name: str, expected: tuple[str, int, str | None, bool, bool]) -> None:
    report = written.report(name)

    provider = report.state_store_provider and report.state_store_provider.rpartition(".")[2]
    moves = (report.real_time.is_possible, report.micro_batch.is_possible)
    assert expected == (report.modes[-1].mode, report.commit_log_version, provider, *moves)
    assert (V1 in report.real_time.reason) == (not report.real_time.is_possible)
    assert (name == "continuous") == report.has_problem
    assert EXPECTED.keys() == written.topics.keys()


def test_moved_query_shows_both_modes_and_its_state(written: Written) -> None:
    report = written.report("moved")

    [operator] = report.operators
    assert report.last_committed is not None
    assert ["micro-batch", "real-time"] == [span.mode for span in report.modes]
    assert ("stateStoreSave", 2) == (operator.name, operator.partitions)
    assert (1, report.last_committed + 1) == operator.versions
    assert 2 == report.shuffle_partitions


def test_position_is_that_of_each_source(written: Written) -> None:
    first, second = written.topics["two-sources"]

    found = starting_offsets(str(written.folder / "two-sources"))

    assert [{first: {"0": 1}}, {second: {"0": 1, "1": 0}}] == [json.loads(offsets) for offsets in found]


def test_killed_micro_batch_repeats_its_planned_batch(written: Written) -> None:
    """The offsets of a planned batch determine which records a restart repeats; a new query starts before them."""
    report = written.report("killed", with_broker=True)

    assert (0, 1) == (report.last_committed, report.last_planned)
    assert (1, 2) == (report.sources[0].partitions[0].committed, report.sources[0].partitions[0].planned)
    assert SLOW_PARTITIONS == report.replay.records
    assert any("batch 1 is planned but not committed" in finding.text for finding in report.findings)
    begin = {str(number): int(number == 0) for number in range(SLOW_PARTITIONS)}
    assert [{written.topics["killed"][0]: begin}] == [
        json.loads(offsets) for offsets in starting_offsets(str(written.folder / "killed"))
    ]


def test_lag_and_new_partition_come_from_the_broker(written: Written) -> None:
    """Records after the last commit are lag; a partition without a position is new, and starts at its first record."""
    report = written.report("real-time", with_broker=True)
    topic = written.topics["real-time"][0]

    assert report.pace
    assert report.pace.median_seconds >= 1.9  # the trigger interval is 2 s
    assert [(2, 3, 1), (None, 1, 1)] == [(each.committed, each.end, each.lag) for each in report.sources[0].partitions]
    assert 2 == report.replay.records
    assert not report.has_problem
    assert any(f"partition 1 of topic {topic} is new" in finding.text for finding in report.findings)
    assert [{topic: {"0": 2, "1": -2}}] == [
        json.loads(offsets)
        for offsets in starting_offsets(str(written.folder / "real-time"), Connection(written.kafka))
    ]


def test_partition_without_a_slot_does_not_move(written: Written) -> None:
    """A real-time query with too few slots never reads one partition; only the broker shows it."""
    report = written.report("starved", with_broker=True)
    stuck = [each for each in report.sources[0].partitions if each.is_stuck]

    assert [(0, 1, 1)] == [(each.committed, each.end, each.lag) for each in stuck]
    assert STARVED_PARTITIONS - 1 == sum(each.committed == each.end for each in report.sources[0].partitions)
    assert report.has_problem
    assert not written.report("starved").has_problem


def test_missing_topic_is_a_problem(written: Written, tmp_path: Path) -> None:
    write_checkpoint(tmp_path)

    [finding] = inspect(str(tmp_path), Connection(written.kafka)).findings

    assert "the broker has no partition 0 of topic clicks, so a restart fails" == finding.text
    assert "clicks" not in AdminClient({"bootstrap.servers": written.kafka}).list_topics(timeout=10).topics


def _general(text: str, topic: str, folder: str) -> str:
    for name, pattern in (
        ("FOLDER", re.escape(folder)),
        ("TOPIC", re.escape(topic)),
        ("ID", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ("DATE", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"),
        ("SECONDS", r"[\d,.]+ s\b"),
        ("SIZE", r"[\d.]+ k?B\b"),
        ("RANGE", r"\([\d.]+ to SECONDS\)"),
        ("BATCHES", r"batches 0 to \d+"),
        ("TOPIC N", r"TOPIC +\d+"),
        ("partition N", r"partition \d+"),
        ("N", r"(?<=committed )\d+|(?<=planned )\d+|(?<=commits/)\d+|\d+(?= entries)"),
    ):
        text = re.sub(pattern, name, text)
    return re.sub(r"[ -]+", " ", text)


def test_page_shows_the_output_of_this_run(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    fence = next(each for each in markdown.fences(PAGE.read_text()) if each.language == "text")
    folder, topic = str(written.folder / "starved"), written.topics["starved"][0]

    assert 1 == skills.main(["inspect", folder, "--bootstrap-servers", written.kafka])

    # On a slow machine, the query has been silent for so long that the report adds a note.
    output = re.sub(r"^note.*\n", "", capsys.readouterr().out, flags=re.MULTILINE)
    # Either partition can lack a slot, so the lines are compared without their order.
    expected = sorted(_general(fence.code, "payments", "/checkpoints/payments").splitlines())
    assert expected == sorted(_general(output, topic, folder).splitlines()), output
