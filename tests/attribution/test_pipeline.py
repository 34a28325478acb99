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
from pyspark.sql import SparkSession
from rich.console import Console

from examples.attribution.pipeline import run, start_queries
from examples.attribution.topics import create_topics
from examples.attribution.view import View
from examples.services import LocalKafka
from examples.settings import TOPICS, Settings
from examples.spark_session import NotEnoughSlotsError
from tests.conftest import SLOTS
from tests.helpers import end_offset, eventually, produce

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]

CHECKOUT = Path(__file__).parents[2]
SHORT = Settings(warm_up_seconds=5, rate=150, interval_seconds=5, slots=SLOTS)


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


def test_a_broker_that_is_killed_and_comes_back_costs_nothing(spark: SparkSession) -> None:
    """The queries survive kill -9 of the broker and its return: nothing lost, nothing wrong, in the same run."""
    broker = LocalKafka()
    broker.start()
    returned = threading.Event()

    def come_back() -> None:
        broker.start()
        returned.set()

    timers = [threading.Timer(9, broker.kill), threading.Timer(14, come_back)]
    try:
        for timer in timers:
            timer.start()
        report = run(replace(SHORT, seconds=12), spark, broker.bootstrap_servers, quiet(), threading.Event())
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
    assert slowest > 4_000, "the outage must have hit the traffic"


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
        eventually(lambda: committed(0) or process.poll() is not None, 120, "a commit of both queries")
        before = results()
        eventually(lambda: results() > before + 200, 60, "results that are not committed yet")
        process.kill()
        process.wait(10)
    with started(kafka, *options) as process:
        eventually(lambda: committed(1) or process.poll() is not None, 120, "another commit")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)

    assert (0, "0 differences") == (process.returncode, output[(at := output.find("0 differences")) : at + 13]), errors
    assert "written twice: ad-attributed " in output, output


def test_a_cluster_of_two_workers_runs_the_same_pipeline(kafka: str) -> None:
    """The streaming shuffle crosses processes there, and the run reconciles all the same."""
    options = ("--seconds", "3", "--warm-up-seconds", "3", "--rate", "100", "--cluster")

    with started(kafka, *options, "--topic-prefix", f"test-{uuid.uuid4().hex[:8]}.") as process:
        output, errors = process.communicate(timeout=240)

    assert 0 == process.returncode, errors
    assert "\n0 differences" in output
    assert "real-time on spark://127.0.0.1" in output
    assert "batch boundary of events_to_attributed" in output


def test_micro_batch_gives_the_same_results_but_an_invented_one_makes_the_run_fail(kafka: str) -> None:
    """Reconciliation is no decoration: the one result that the rule does not know is named, and the status is 1."""
    settings = Settings(topic_prefix=f"test-{uuid.uuid4().hex[:8]}.")
    create_topics(kafka, settings)
    invented = {"result_id": "invented", "version": 2, "kind": "slot", "code": "filled", "src": "nowhere"}
    produce(kafka, settings.topic("ad-attributed"), [(0, json.dumps(invented).encode())])

    options = ("--trigger", "micro-batch", "--seconds", "3", "--warm-up-seconds", "1", "--rate", "100")
    with started(kafka, *options, "--topic-prefix", settings.topic_prefix) as process:
        output, errors = process.communicate(timeout=120)

    assert 1 == process.returncode, errors
    assert "result invented has no cause" in output
    assert "\n2 differences" in output, "the result itself and the sum of its family; all others are equal"


def test_too_few_slots_are_refused_before_anything_starts(spark: SparkSession, settings: Settings) -> None:
    """Four partitions of each topic need more slots than the session has; no query is left running."""
    partitions = dict.fromkeys(TOPICS, 4)

    with pytest.raises(NotEnoughSlotsError, match=r"need 18 task slots .*kafka_to_events 12, events_to_attributed 6"):
        start_queries(settings, spark, "127.0.0.1:1", partitions, "never-written")

    assert [] == spark.streams.active


def test_an_absent_broker_ends_the_command_with_one_clear_line() -> None:
    """No stack trace, status 1, and the address that does not answer."""
    with started("127.0.0.1:1") as process:
        _, errors = process.communicate(timeout=60)

    assert 1 == process.returncode
    assert "127.0.0.1:1" in errors.splitlines()[-1]
    assert "Traceback" not in errors
