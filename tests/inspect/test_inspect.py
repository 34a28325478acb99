import json
import re
import uuid
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from scripts import skills
from scripts.pack import files
from spark_rtm.inspect.inspection import inspect, starting_offsets
from spark_rtm.inspect.sources import Connection
from spark_rtm.realtime.queries import stop_completely, wait_until
from spark_rtm.realtime.slots import slots_total
from spark_rtm.text import markdown
from tests.helpers import end_offset, new_topic, produce
from tests.inspect.files import write_checkpoint
from tests.pages.examples import definition_of
from tests.pages.jobs import ModeJob, newest_entry, prepare, send, start, stream_of

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(180)]

PAGE = files.ROOT / "references/inspect.md"
DEBUGGING = files.ROOT / "references/debugging.md"


def _job(spark: SparkSession, kafka: str, folder: Path, *shapes: str, partitions: int = 1) -> ModeJob:
    source, target = new_topic(kafka, partitions), new_topic(kafka, 1)
    return ModeJob(prepare(spark.newSession()), kafka, source, target, folder / "checkpoint", shapes)


@pytest.fixture(scope="module")
def starved(spark: SparkSession, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> ModeJob:
    """Return a real-time job that ran with one slot less than its source has partitions."""
    slots = slots_total(spark)
    job = _job(spark, kafka, tmp_path_factory.mktemp("starved"), partitions=slots + 1)
    # The page shows this number.
    job.spark.conf.set("spark.sql.shuffle.partitions", "2")
    produce(kafka, job.source, [(number, b"a") for number in range(slots + 1)])
    query, commits = start(job, "real-time"), job.checkpoint / "commits"
    wait_until(lambda: end_offset(kafka, job.target) >= slots, 90, "a record per slot", [query])
    read = newest_entry(commits)
    wait_until(lambda: newest_entry(commits) > read + 1, 90, "two commits", [query])
    stop_completely(spark, query)
    return job


def _run(job: ModeJob) -> None:
    options = {"kafka.bootstrap.servers": job.kafka, "topic": job.target, "checkpointLocation": str(job.checkpoint)}
    writer = stream_of(job).writeStream.format("kafka").outputMode("update").options(**options)
    writer.trigger(availableNow=True).start().awaitTermination(60)


def test_batch_that_failed_is_planned_and_repeated(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """The offsets of a planned batch determine which records a restart repeats; a new query starts before them."""
    job = _job(spark, kafka, tmp_path, "failing for b")
    send(job, "a")
    _run(job)
    send(job, "b", "b")
    with pytest.raises(StreamingQueryException):
        _run(job)

    report = inspect(str(job.checkpoint), Connection(kafka))

    assert "micro-batch" == report.modes[-1].mode
    assert (0, 1) == (report.last_committed, report.last_planned)
    [partition] = report.sources[0].partitions
    assert (1, 3, 2) == (partition.committed, partition.planned, report.replay.records)
    assert any("batch 1 is planned but not committed" in finding.text for finding in report.findings)
    assert [{job.source: {"0": 1}}] == [json.loads(offsets) for offsets in starting_offsets(str(job.checkpoint))]


def test_partition_without_a_slot_does_not_move(starved: ModeJob) -> None:
    """A real-time query with too few slots never reads one partition, which is visible only on the broker."""
    report = inspect(str(starved.checkpoint), Connection(starved.kafka))
    partitions = report.sources[0].partitions

    assert [(0, 1, 1)] == [(each.committed, each.end, each.lag) for each in partitions if each.is_stuck]
    assert len(partitions) - 1 == sum(each.committed == each.end for each in partitions)
    [topic] = {each.topic for each in partitions}
    read, newest = (
        json.dumps({topic: {str(each.partition): getattr(each, name) for each in partitions}})
        for name in ("committed", "end")
    )
    [stuck] = [each for each in partitions if each.is_stuck]
    assert [f"{topic}-{stuck.partition}"] == definition_of(DEBUGGING, "starved")(read, read, newest)
    assert report.has_problem
    assert report.pace
    assert report.pace.median_seconds >= 1.9  # the trigger interval is 2 s
    assert not inspect(str(starved.checkpoint)).has_problem


def test_missing_topic_is_a_problem(kafka: str, tmp_path: Path) -> None:
    topic = f"missing-{uuid.uuid4().hex[:8]}"
    for file in filter(Path.is_file, write_checkpoint(tmp_path).rglob("*")):
        file.write_text(file.read_text().replace("clicks", topic))

    [finding] = inspect(str(tmp_path), Connection(kafka)).findings

    assert f"the broker has no partition 0 of topic {topic}, so a restart fails" == finding.text
    assert topic not in AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).topics


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


def test_page_shows_the_output_of_this_run(starved: ModeJob, capsys: pytest.CaptureFixture[str]) -> None:
    fence = next(each for each in markdown.fences(PAGE.read_text()) if each.language == "text")
    folder = str(starved.checkpoint)

    assert 1 == skills.main(["inspect", folder, "--bootstrap-servers", starved.kafka])

    # On a slow machine, the query has been silent for so long that the report adds a note.
    output = re.sub(r"^note.*\n", "", capsys.readouterr().out, flags=re.MULTILINE)
    # Any partition can lack a slot, and the query of the page has fewer of them.
    expected = set(_general(fence.code, "payments", "/checkpoints/payments").splitlines())
    assert expected == set(_general(output, starved.source, folder).splitlines()), output
