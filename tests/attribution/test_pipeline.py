"""The whole pipeline: it reconciles through outages, crashes and restarts, and says so when it does not."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from examples.attribution.demo.__main__ import exit_status
from examples.attribution.demo.live_view import View
from examples.attribution.demo.run import run
from examples.attribution.pipeline import hops, start_queries
from examples.attribution.settings import Settings
from examples.attribution.topics import TOPICS
from examples.realtime.slots import NotEnoughSlotsError
from examples.services import LocalKafka, postgres_server, running
from tests.helpers import end_offset, eventually, produce

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(600)]

CHECKOUT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Started:
    """A pipeline in processes of its own. It writes to files: in an outage it says more than an unread pipe holds."""

    process: subprocess.Popen[bytes]
    folder: Path

    def said(self, where: str) -> str:
        """Return its `output` or its `errors` so far."""
        return (self.folder / where).read_text()

    def kill(self) -> None:
        """Kill it and its engine, which would otherwise write for a second longer than Python lives."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)


@contextmanager
def started(kafka: str, *options: str) -> Iterator[Started]:
    """Run the pipeline as a user would; its processes are gone afterwards, and a failure shows what they said."""
    command = [sys.executable, "-m", "examples.attribution.demo", "--interval-seconds", "5", *options]
    env = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": kafka}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        output, errors = (stack.enter_context((folder / name).open("wb")) for name in ("output", "errors"))
        process = subprocess.Popen(command, cwd=CHECKOUT, env=env, stdout=output, stderr=errors, start_new_session=True)
        own = Started(process, folder)
        try:
            yield own
        except AssertionError as error:
            error.add_note(own.said("output") + own.said("errors"))
            raise
        finally:
            own.kill()


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
    options = ("--duration", "0", "--warm-up-seconds", "5", "--rate", "150", "--checkpoint-dir", str(tmp_path))

    def committed(batch: int) -> bool:
        return all((tmp_path / hop.name / "commits" / str(batch)).exists() for hop in hops(Settings()))

    def results() -> int:
        try:
            return sum(end_offset(kafka, "ad-attributed", partition) for partition in (0, 1))
        except KafkaException:
            return 0  # a broker that has just come back leads no partition yet

    with started(kafka, *options) as first:
        eventually(lambda: committed(0) or first.process.poll() is not None, 200, "a commit of every query")
        before = results()
        eventually(lambda: results() > before + 200, 60, "results that are not committed yet")
        first.kill()
    with started(kafka, *options) as second:
        before = results()
        eventually(
            lambda: results() > before + 500 or second.process.poll() is not None, 200, "results after the restart"
        )
        before = results()
        own_broker.kill()
        own_broker.start()
        eventually(
            lambda: results() > before + 500 or second.process.poll() is not None, 120, "results after the outage"
        )
        second.process.send_signal(signal.SIGINT)
        status, output = second.process.wait(200), second.said("output")
        assert 0 == status

    assert "\n0 differences" in output
    assert "not delivered 0\n" in output
    assert "written twice: ad-attributed " in output, output
    assert "pending" not in output[output.index("reconciliation") :]


def test_a_cluster_of_two_workers_runs_the_same_pipeline(kafka: str) -> None:
    """The streaming shuffle crosses processes there, and the run reconciles all the same."""
    options = ("--duration", "3", "--warm-up-seconds", "3", "--rate", "100", "--cluster")

    with started(kafka, *options, "--topic-prefix", f"test-{uuid.uuid4().hex[:8]}.") as cluster:
        status, output = cluster.process.wait(400), cluster.said("output")
        assert 0 == status

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
    short = replace(settings, trigger="micro-batch", duration=3, warm_up_seconds=1, rate=100)

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
    with started("127.0.0.1:1") as lost:
        status, errors = lost.process.wait(60), lost.said("errors")

    assert 1 == status
    assert "127.0.0.1:1" in errors.splitlines()[-1]
    assert "Traceback" not in errors
