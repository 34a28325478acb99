"""The whole pipeline: it reconciles after outages, crashes and restarts, and reports every difference."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.attribution.correlation.rule import Result
from examples.attribution.demo.__main__ import main
from examples.attribution.pipeline import pipeline_queries, query_starters, source_tasks
from examples.attribution.settings import Settings
from examples.attribution.topics import TOPICS
from spark_rtm.realtime.slots import NotEnoughSlotsError, slots_needed
from tests.helpers import eventually, kafka_rows, produce

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(600)]

CHECKOUT = Path(__file__).parents[2]


@contextmanager
def demo_process(folder: Path, kafka: str, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], Path, Path]]:
    """Run the demonstration as a user does, yield its process with its output and error files, and kill it."""
    command = [sys.executable, "-m", "examples.attribution.demo", "--interval-seconds=10", *options]
    env, output, errors = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": kafka}, folder / "output", folder / "errors"
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(command, cwd=CHECKOUT, env=env, stdout=out, stderr=err, start_new_session=True)
        try:
            yield process, output, errors
        except AssertionError as error:
            error.add_note(output.read_text() + errors.read_text())
            raise
        finally:
            # Its JVM would otherwise write for another second.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)


def test_invented_result_fails_an_otherwise_correct_run(kafka: str, settings: Settings, tmp_path: Path) -> None:
    """After Ctrl-C, the command waits for all results, reports exactly the invented ones, and exits with status 1."""
    at = 1_000_000 * int(time.time() // 1_000)
    invented = Result("invented", 2, "slot", "filled", "invented", at, "c", at, "nowhere", at, clock_skew=False)
    produce(kafka, settings.topic("ad-attributed"), [(0, json.dumps(asdict(invented)).encode())])
    # Windows of minutes take a second or two, so the run is drained sooner. On a busy machine, the timeouts can be
    # minutes behind; with the default slack, they would count as late.
    options = ["--duration=0", "--warm-up-seconds=1", "--rate=30", "--time-scale=600", "--watermark-slack-ms=600000"]
    options += ["--table=parquet", "--python-interval-seconds=10"]  # each commit plans the queries again

    with demo_process(tmp_path, kafka, *options, "--compare", "--topic-prefix", settings.topic_prefix) as (
        process,
        path,
        _,
    ):
        eventually(lambda: re.search(r"running: .* p50 \d.* in micro-batch mode", path.read_text()), 200, "results")
        process.send_signal(signal.SIGINT)
        assert 1 == process.wait(400)
        output = path.read_text()

    found = re.findall(r"^(?:.* is not in the replay|slots: input is .*)$", output, re.MULTILINE)
    count = next(text for text in found if text.startswith(f"count c/{at}/"))
    slots = re.search(r"slots +(\d+) ", output)
    assert slots
    assert {
        "result invented is not in the replay",
        "row invented is not in the replay",
        count,
        f"slots: input is {slots[1]}, but the outcomes add up to {int(slots[1]) + 1}",
    } == set(found)
    # The record has no key, so its row in the table has another id than its row in PostgreSQL.
    in_table = re.findall(r"^table: result (\S+) has version 2$", output, re.MULTILINE)
    assert [f"{settings.topic('ad-attributed')}:0:0", "invented"] == sorted(in_table, key="invented".__eq__)
    assert "6 differences from the replay of" in output
    # The query beside the pipeline has decoded the same records.
    assert "decode, at the same time: p50" in output
    assert re.search(r"^table: [\d,]+ results in parquet format, \d+ batches; age", output, re.MULTILINE)
    assert "pauses of events_to_attributed at batch boundaries" in output


def test_too_few_slots_are_rejected_before_any_start(spark: SparkSession, settings: Settings) -> None:
    """With four partitions per topic, all five queries need more slots than the session has; no query is started."""
    partitions = dict.fromkeys(TOPICS, 4)

    needs = (
        "kafka_to_events 12, events_to_attributed 6, attributed_to_pacing 6, events_to_timeouts 4, touches_to_credit 12"
    )
    with pytest.raises(NotEnoughSlotsError, match=f"need 40 task slots .*{needs}"):
        query_starters(settings, spark, "127.0.0.1:1", partitions, "never-written")

    assert [] == spark.streams.active
    # In real-time mode, the queries with Python also need slots for ticks and for their state.
    settings = replace(settings, python_trigger="real-time")
    rows = kafka_rows(spark, "127.0.0.1:1", "ticks", includeHeaders="true")
    streams = {query: query.transform(rows) for query in pipeline_queries(settings, rows) if query.has_python}
    assert [7, 15] == [slots_needed(s, source_tasks(q, s, partitions, settings)) for q, s in streams.items()]


def test_absent_broker_is_a_one_line_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")

    assert 1 == main([])
    assert "127.0.0.1:1" in capsys.readouterr().err.splitlines()[-1]


def test_interrupt_during_the_start_ends_the_command_with_one_line(tmp_path: Path) -> None:
    with demo_process(tmp_path, "127.0.0.1:1") as (process, output, errors):
        eventually(lambda: "starting Kafka" in output.read_text(), 60, "the start")
        process.send_signal(signal.SIGINT)
        assert 130 == process.wait(60)
        printed = errors.read_text()

    assert "interrupted" in printed.splitlines()[-1]
    assert "Traceback" not in printed
