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

from examples.attribution.pipeline import exit_status, run, start_queries
from examples.attribution.view import View
from examples.services import LocalKafka, postgres_server, running
from examples.settings import TOPICS, Settings
from examples.spark_session import NotEnoughSlotsError
from tests.helpers import end_offset, eventually, produce

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]

CHECKOUT = Path(__file__).parents[2]


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


@pytest.fixture
def own_broker() -> Iterator[LocalKafka]:
    """Yield a broker that a test may kill."""
    with running(LocalKafka()) as broker:
        yield broker


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    """Yield a database for the runs in this process."""
    with postgres_server() as own:
        yield own


def test_a_killed_pipeline_and_a_killed_broker_cost_nothing(own_broker: LocalKafka, tmp_path: Path) -> None:
    """
    Kill -9 of the pipeline, a restart, kill -9 of the broker, its return, Ctrl-C: everything reconciles, status 0.

    What was not committed when the pipeline died is written twice, and counted once.
    """
    kafka = own_broker.bootstrap_servers
    options = ("--seconds", "0", "--warm-up-seconds", "5", "--rate", "150", "--checkpoints", str(tmp_path))

    def committed(batch: int) -> bool:
        hops = ("kafka_to_events", "events_to_attributed")
        return all((tmp_path / hop / "commits" / str(batch)).exists() for hop in hops)

    def results() -> int:
        return sum(end_offset(kafka, "ad-attributed", partition) for partition in (0, 1))

    with started(kafka, *options) as process:
        eventually(lambda: committed(0) or process.poll() is not None, 120, "a commit of both queries")
        before = results()
        eventually(lambda: results() > before + 200, 60, "results that are not committed yet")
        process.kill()
        process.wait(10)
    with started(kafka, *options) as process:
        before = results()
        eventually(lambda: results() > before + 500 or process.poll() is not None, 120, "results after the restart")
        own_broker.kill()
        own_broker.start()
        before = results()
        eventually(lambda: results() > before + 500 or process.poll() is not None, 120, "results after the outage")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)

    assert 0 == process.returncode, errors
    assert "\n0 differences" in output
    assert "not delivered 0\n" in output
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


def test_an_invented_result_fails_a_run_that_is_right_in_all_else(
    spark: SparkSession, kafka: str, dsn: str, settings: Settings
) -> None:
    """Reconciliation is no decoration: what the rule does not know is named, and the status is 1, in any mode."""
    invented = {"result_id": "invented", "version": 2, "kind": "slot", "code": "filled", "src": "nowhere"}
    produce(kafka, settings.topic("ad-attributed"), [(0, json.dumps(invented).encode())])
    short = replace(settings, trigger="micro-batch", seconds=3, warm_up_seconds=1, rate=100)

    report = run(short, spark, kafka, dsn, View(Console(quiet=True)), threading.Event())

    slots = report.reconciliation.counts["slots"]["in"]
    assert slots > 10
    assert {
        "result invented has no cause",
        "row invented has no cause",
        f"slots: {slots} came in, but {slots + 1} are accounted for",
    } == set(report.reconciliation.differences)
    assert 1 == exit_status([report])


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
