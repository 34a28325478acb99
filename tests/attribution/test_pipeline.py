"""The whole pipeline: it reconciles through outages, crashes and restarts, and says so when it does not."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from examples.attribution.pipeline import exit_status, hops, run, start_queries
from examples.attribution.view import View
from examples.services import LocalKafka, postgres_server, running
from examples.settings import TOPICS, Settings
from examples.spark_session import NotEnoughSlotsError
from tests.helpers import end_offset, eventually, produce

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(600)]

CHECKOUT = Path(__file__).parents[2]


@contextmanager
def started(kafka: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run the pipeline as a user would, in processes of its own; they are gone afterwards, and a failure shows them."""
    command = [sys.executable, "-m", "examples.attribution.pipeline", "--interval-seconds", "5", *options]
    env = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": kafka}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=CHECKOUT, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        except AssertionError as error:
            kill(process)
            error.add_note("\n".join(process.communicate(timeout=10)))
            raise
        finally:
            kill(process)


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a pipeline and its engine, which would otherwise write for a second longer than Python lives."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)


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

    What was not committed when the pipeline died is written twice, and counted once, by every hop.
    """
    kafka = own_broker.bootstrap_servers
    options = ("--seconds", "0", "--warm-up-seconds", "5", "--rate", "150", "--checkpoints", str(tmp_path))

    def committed(batch: int) -> bool:
        return all((tmp_path / hop.name / "commits" / str(batch)).exists() for hop in hops(Settings()))

    def results() -> int:
        try:
            return sum(end_offset(kafka, "ad-attributed", partition) for partition in (0, 1))
        except KafkaException:
            return 0  # a broker that has just come back leads no partition yet

    with started(kafka, *options) as process:
        eventually(lambda: committed(0) or process.poll() is not None, 200, "a commit of every query")
        before = results()
        eventually(lambda: results() > before + 200, 60, "results that are not committed yet")
        kill(process)
        process.wait(10)
    with started(kafka, *options) as process:
        before = results()
        eventually(lambda: results() > before + 500 or process.poll() is not None, 200, "results after the restart")
        before = results()
        own_broker.kill()
        own_broker.start()
        eventually(lambda: results() > before + 500 or process.poll() is not None, 120, "results after the outage")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=200)

    assert 0 == process.returncode, output + errors
    assert "\n0 differences" in output
    assert "not delivered 0\n" in output
    assert "written twice: ad-attributed " in output, output
    assert "pending" not in output[output.index("reconciliation") :]


def test_a_cluster_of_two_workers_runs_the_same_pipeline(kafka: str) -> None:
    """The streaming shuffle crosses processes there, and the run reconciles all the same."""
    options = ("--seconds", "3", "--warm-up-seconds", "3", "--rate", "100", "--cluster")

    with started(kafka, *options, "--topic-prefix", f"test-{uuid.uuid4().hex[:8]}.") as process:
        output, errors = process.communicate(timeout=400)

    assert 0 == process.returncode, errors
    assert "\n0 differences" in output
    assert "real-time on spark://127.0.0.1" in output
    assert "batch boundary of events_to_attributed" in output


def test_an_invented_result_fails_a_run_that_is_right_in_all_else(
    spark: SparkSession, kafka: str, dsn: str, settings: Settings
) -> None:
    """Reconciliation is no decoration: what the rule does not know is named, and the status is 1, in any mode."""
    invented = {"result_id": "invented", "version": 2, "kind": "slot", "code": "filled", "src": "nowhere"}
    invented |= {"transaction_id": "invented", "campaign_id": "c", "request_ts": 1_000_000 * int(time.time() // 1_000)}
    produce(kafka, settings.topic("ad-attributed"), [(0, json.dumps(invented).encode())])
    short = replace(settings, trigger="micro-batch", seconds=3, warm_up_seconds=1, rate=100)

    report = run(short, spark, kafka, dsn, View(Console(quiet=True)), threading.Event())

    slots = report.reconciliation.counts["slots"]["in"]
    assert slots > 10
    count = next(iter(report.books.counts.keys() & {f"c/{invented['request_ts']}/{shard}" for shard in range(4)}))
    assert {
        "result invented has no cause",
        "row invented has no cause",
        f"count {count} has no cause",
        f"slots: {slots} came in, but {slots + 1} are accounted for",
    } == set(report.reconciliation.differences)
    assert 1 == exit_status([report])


def test_no_python_is_on_the_way_of_a_query_in_real_time_mode(spark: SparkSession, settings: Settings) -> None:
    """The plans of the three fast queries are Java only; time-outs and credit, which are not, stay in micro-batch."""
    plans = {}
    for hop in hops(settings):
        source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:1")
        source = source.option("includeHeaders", "true").option("subscribe", ",".join(hop.sources))
        plans[hop] = printed_plan(hop.transform(source.load()))

    with_python = {hop.name for hop, plan in plans.items() if "PySpark" in plan or "Python" in plan}
    assert {"events_to_timeouts", "touches_to_credit"} == with_python
    assert with_python == {hop.name for hop in plans if hop.micro_batch_seconds is not None}


def printed_plan(stream: DataFrame) -> str:
    """Return the physical plan."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        stream.explain()
    return printed.getvalue()


def test_too_few_slots_are_refused_before_anything_starts(spark: SparkSession, settings: Settings) -> None:
    """Four partitions of each topic need more slots than the session has, micro-batches included; no query runs."""
    partitions = dict.fromkeys(TOPICS, 4)

    needs = (
        "kafka_to_events 12, events_to_attributed 6, attributed_to_pacing 6, events_to_timeouts 4, touches_to_credit 12"
    )
    with pytest.raises(NotEnoughSlotsError, match=f"need 40 task slots .*{needs}"):
        start_queries(settings, spark, "127.0.0.1:1", partitions, "never-written")

    assert [] == spark.streams.active


def test_an_absent_broker_ends_the_command_with_one_clear_line() -> None:
    """No stack trace, status 1, and the address that does not answer."""
    with started("127.0.0.1:1") as process:
        _, errors = process.communicate(timeout=60)

    assert 1 == process.returncode
    assert "127.0.0.1:1" in errors.splitlines()[-1]
    assert "Traceback" not in errors
