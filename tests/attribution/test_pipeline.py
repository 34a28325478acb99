"""The whole pipeline: it reconciles through outages, crashes and restarts, and says so when it does not."""

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from rich.console import Console

from examples.attribution.pipeline import run
from examples.attribution.topics import create_topics
from examples.attribution.view import View
from examples.services import LocalKafka
from examples.settings import Settings
from tests.conftest import SLOTS
from tests.helpers import end_offset, eventually

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]

CHECKOUT = Path(__file__).parents[2]
SHORT = Settings(seconds=5, warm_up_seconds=5, rate=150, interval_seconds=5, slots=SLOTS)


def quiet() -> View:
    """Return a view that nobody sees."""
    return View(Console(file=Path(os.devnull).open("w")))


@contextmanager
def started(kafka: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run the pipeline as a user would, in a process of its own; it is gone afterwards."""
    command = [sys.executable, "-m", "examples.attribution.pipeline", "--interval-seconds", "5", *options]
    env = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": kafka}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=CHECKOUT, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_broker_that_is_away_for_ten_seconds_costs_nothing(spark: SparkSession) -> None:
    """The queries survive kill -9 of the broker and its return: nothing lost, nothing wrong, in the same run."""
    broker = LocalKafka()
    broker.start()
    returned = threading.Event()

    def come_back() -> None:
        broker.start()
        returned.set()

    timers = [threading.Timer(12, broker.kill), threading.Timer(22, come_back)]
    try:
        for timer in timers:
            timer.start()
        report = run(replace(SHORT, seconds=25), spark, broker.bootstrap_servers, quiet(), threading.Event())
    finally:
        for timer in timers:
            timer.cancel()
        broker.stop()
        broker.remove()

    assert returned.is_set()
    assert [] == report.reconciliation.differences
    assert 0 == report.sent.failed
    assert report.sent.records == len(report.ledger.sources)
    slowest = {row.hop: row.max for row in report.latencies}["from intended send"]
    assert slowest > 9_000, "the outage must have hit the traffic"


def test_the_same_work_in_micro_batch_mode_gives_the_same_results(spark: SparkSession, kafka: str) -> None:
    """Both execution modes reconcile with the rule; only the latency differs."""
    settings = replace(SHORT, trigger="micro-batch", topic_prefix=f"test-{uuid.uuid4().hex[:8]}.")

    report = run(settings, spark, kafka, quiet(), threading.Event())

    assert [] == report.reconciliation.differences
    assert report.reconciliation.results > 500


def test_a_killed_pipeline_goes_on_from_its_checkpoints_and_ends_on_ctrl_c(kafka: str, tmp_path: Path) -> None:
    """Kill -9 in the middle of a batch, restart, Ctrl-C: what both runs have sent reconciles, and the status is 0."""
    own = ("--seconds", "0", "--warm-up-seconds", "5", "--rate", "150", "--checkpoints", str(tmp_path))
    prefix = f"test-{uuid.uuid4().hex[:8]}."
    options = (*own, "--topic-prefix", prefix)
    hops = ("kafka_to_events", "events_to_attributed")

    def committed(batch: int) -> bool:
        return all((tmp_path / hop / "commits" / str(batch)).exists() for hop in hops)

    def results() -> int:
        return sum(end_offset(kafka, f"{prefix}ad-attributed", partition) for partition in (0, 1))

    with started(kafka, *options) as process:
        eventually(lambda: committed(1) or process.poll() is not None, 120, "two commits of both queries")
        before = results()
        eventually(lambda: results() > before + 200, 60, "results that are not committed yet")
        process.kill()
        process.wait(10)
    with started(kafka, *options) as process:
        eventually(lambda: committed(3) or process.poll() is not None, 120, "two more commits")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)

    assert (0, "0 differences") == (process.returncode, output[(at := output.find("0 differences")) : at + 13]), errors
    assert "written twice: ad-attributed " in output, output


def test_compare_on_a_cluster_reconciles_in_both_modes_and_prints_the_ratio(kafka: str) -> None:
    """A standalone cluster of two workers runs the same modules; the ratio is printed for each hop."""
    options = ("--seconds", "6", "--warm-up-seconds", "8", "--rate", "100", "--cluster", "--compare")

    with started(kafka, *options, "--topic-prefix", f"test-{uuid.uuid4().hex[:8]}.") as process:
        output, errors = process.communicate(timeout=240)

    assert 0 == process.returncode, errors
    assert 2 == output.count("\n0 differences")
    assert "real-time on spark://127.0.0.1" in output
    assert "micro-batch / real-time" in output
    assert "batch boundary of events_to_attributed" in output


def test_a_result_without_cause_makes_the_run_fail(kafka: str) -> None:
    """Reconciliation is no decoration: one result that the rule does not know ends the run with status 1."""
    settings = Settings(topic_prefix=f"test-{uuid.uuid4().hex[:8]}.")
    create_topics(kafka, settings)
    producer = Producer({"bootstrap.servers": kafka})
    invented = {"result_id": "invented", "version": 2, "kind": "slot", "code": "filled", "src": "nowhere"}
    producer.produce(settings.topic("ad-attributed"), json.dumps(invented))
    producer.flush(30)

    options = ("--seconds", "2", "--warm-up-seconds", "0", "--rate", "50")
    with started(kafka, *options, "--topic-prefix", settings.topic_prefix) as process:
        output, errors = process.communicate(timeout=120)

    assert 1 == process.returncode, errors
    assert "result invented has no cause" in output


def test_too_few_slots_are_refused_before_the_start(kafka: str) -> None:
    """The user reads what is missing and what to do, without a stack trace."""
    with started(kafka, "--slots", "9", "--topic-prefix", f"test-{uuid.uuid4().hex[:8]}.") as process:
        _, errors = process.communicate(timeout=120)

    assert 1 == process.returncode
    assert "need 10 task slots at the same time (kafka_to_events 6, events_to_attributed 4)" in errors
    assert "use local[10]" in errors
    assert "Traceback" not in errors
