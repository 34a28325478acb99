"""The whole pipeline: it reconciles after outages, crashes and restarts, and reports every difference."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from examples.attribution.chaos.processes import EXECUTOR, WORKER, find
from examples.attribution.correlation.rule import Result
from examples.attribution.demo.__main__ import exit_status
from examples.attribution.demo.live_view import LiveView
from examples.attribution.demo.run import run
from examples.attribution.pipeline import pipeline_queries, query_starters
from examples.attribution.settings import Settings
from examples.attribution.topics import TOPICS
from spark_rtm.kafka.consumer import consumer_from_start, is_at_end, is_record
from spark_rtm.realtime.slots import NotEnoughSlotsError
from spark_rtm.services.child import free_ports, start_child
from tests.helpers import eventually, produce

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(600)]

CHECKOUT = Path(__file__).parents[2]
# Windows of minutes take a second or two, so a run that needs no long windows is drained sooner.
SHORT_WINDOWS = 600


@dataclass(frozen=True)
class DemoProcess:
    """A demonstration in separate processes. It writes to files, because an unread pipe would fill during an outage."""

    process: subprocess.Popen[bytes]
    folder: Path

    def printed(self, stream: str) -> str:
        return (self.folder / stream).read_text()

    def kill(self) -> None:
        """Kill the process and its JVM, which would otherwise write for another second."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)


@contextmanager
def demo_process(kafka: str, *options: str) -> Iterator[DemoProcess]:
    """Run the demonstration as a user does, and kill it afterwards; a failed assertion shows its output."""
    command = [sys.executable, "-m", "examples.attribution.demo", "--interval-seconds", "5", *options]
    env = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": kafka}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        output, errors = (stack.enter_context((folder / name).open("wb")) for name in ("output", "errors"))
        process = subprocess.Popen(command, cwd=CHECKOUT, env=env, stdout=output, stderr=errors, start_new_session=True)
        demo = DemoProcess(process, folder)
        try:
            yield demo
        except AssertionError as error:
            error.add_note(demo.printed("output") + demo.printed("errors"))
            raise
        finally:
            demo.kill()


def kill_an_executor(demo: DemoProcess) -> float:
    find(EXECUTOR, demo.process.pid)[0].kill()
    return time.time() * 1000


def is_registered(executor: psutil.Process) -> bool:
    return any(connection.status == psutil.CONN_LISTEN for connection in executor.net_connections("tcp"))


@contextmanager
def another_worker(demo: DemoProcess, folder: Path) -> Iterator[None]:
    """Add a worker like the existing ones to the demonstration's cluster, and wait until its executor is registered."""
    like = find(WORKER, demo.process.pid)[0]
    command = like.cmdline()
    command[command.index("--webui-port") + 1] = str(free_ports(1)[0])
    worker = start_child("added worker", command, log_path=folder / "added-worker.log", env=like.environ())
    try:
        executor = find(EXECUTOR, worker.pid)[0]
        eventually(lambda: is_registered(executor), 120, "the registration of the added executor")
        yield
    finally:
        worker.stop()


def decommission_a_worker(demo: DemoProcess) -> float:
    worker = find(WORKER, demo.process.pid)[0]
    executor = find(EXECUTOR, worker.pid)[0]
    worker.send_signal(signal.SIGPWR)
    eventually(lambda: not executor.is_running(), 120, "the end of the executor")
    return time.time() * 1000


class AppendTimes:
    def __init__(self, kafka: str, topic: str) -> None:
        self._consumer = consumer_from_start(kafka, {topic: 2})
        self._times: list[int] = []

    def read(self) -> list[int]:
        new = [message.timestamp()[1] for message in filter(is_record, self._consumer.consume(10_000, 0.5))]
        self._times = sorted(self._times + new)
        return self._times

    def read_to_end(self) -> list[int]:
        eventually(lambda: self.read() and is_at_end(self._consumer), 60, "the end of the topic")
        return self._times

    def close(self) -> None:
        self._consumer.close()


def longest_gap_ms(times: list[int], from_ms: float, to_ms: float) -> int:
    first = next(number for number, at in enumerate(times) if at > from_ms - 1000)
    last = next(number for number, at in enumerate(times) if at > to_ms)
    return max(later - earlier for earlier, later in pairwise(times[first : last + 1]))


@pytest.mark.timeout(1200)
def test_pipeline_reconciles_on_a_cluster_after_a_lost_executor(
    kafka: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The streaming shuffle crosses processes, the lost queries restart, and every result equals the replay.

    Afterwards, a worker is added and another worker is decommissioned: results flow again without the old worker.
    """
    prefix = f"test-{uuid.uuid4().hex[:8]}."
    options = ["--duration=0", "--warm-up-seconds=3", "--rate=30", f"--time-scale={SHORT_WINDOWS}", "--cluster"]
    # On a busy machine, the timeouts can be minutes behind; with the default slack, they would count as late.
    options.append("--watermark-slack-ms=600000")

    with demo_process(kafka, *options, "--topic-prefix", prefix) as cluster, ExitStack() as stack:
        eventually(lambda: "sent" in cluster.printed("output") or cluster.process.poll() is not None, 200, "traffic")
        counts = stack.enter_context(closing(AppendTimes(kafka, f"{prefix}ad-pacing")))
        eventually(lambda: len(counts.read()) > 100, 120, "counts before the kill")
        killed_at = kill_an_executor(cluster)
        eventually(lambda: "restarts from its checkpoint" in cluster.printed("output"), 120, "a decision")
        decided_at = time.time() * 1000
        # A query that has not failed yet can still write for a moment.
        eventually(lambda: counts.read()[-50] > decided_at + 2000, 240, "counts after the restart")
        flowed_at = time.time() * 1000

        stack.enter_context(another_worker(cluster, tmp_path))
        left_at = decommission_a_worker(cluster)
        eventually(lambda: counts.read()[-50] > left_at + 2000, 240, "counts without the old worker")
        cluster.process.send_signal(signal.SIGINT)
        status, output = cluster.process.wait(400), cluster.printed("output")
        assert 0 == status
        times = counts.read_to_end()

    lost_ms = longest_gap_ms(times, killed_at, flowed_at)
    left_ms = longest_gap_ms(times, flowed_at, left_at + 2000)
    with capsys.disabled():
        print(f" [decision after {decided_at - killed_at:.0f} ms, results stopped for {lost_ms} ms]", end="")
        print(f" [worker left after {left_at - flowed_at:.0f} ms, results stopped for {left_ms} ms]", end="")
    assert re.search(r"(?<!\d)0 differences", output)
    assert re.search(r"real-time [^|]* on spark://127\.0\.0\.1", output)
    # A query that is between two batches at the kill does not fail, but at least one of the two must have failed.
    assert re.search(r"query '(events_to_attributed|attributed_to_pacing)' failed with ", output), output
    # Its tasks do not shuffle rows, so Spark repeats those of the lost executor.
    assert "query 'kafka_to_events' failed" not in output
    assert "pauses of events_to_attributed at batch boundaries" in output


def test_invented_result_fails_an_otherwise_correct_run(
    spark: SparkSession, kafka: str, rtm_postgres: str, settings: Settings
) -> None:
    at = 1_000_000 * int(time.time() // 1_000)
    invented = Result("invented", 2, "slot", "filled", "invented", at, "c", at, "nowhere", at, clock_skew=False)
    produce(kafka, settings.topic("ad-attributed"), [(0, json.dumps(asdict(invented)).encode())])
    short = replace(settings, trigger="micro-batch", duration=2, warm_up_seconds=1, rate=80, time_scale=SHORT_WINDOWS)

    report = run(short, spark, kafka, rtm_postgres, LiveView(Console(quiet=True)), threading.Event(), beside=True)

    slots = report.reconciliation.counts["slots"]["in"]
    assert slots > 10
    count = next(iter(report.log.counts.keys() & {f"c/{at}/{shard}" for shard in range(4)}))
    assert {
        "result invented is not in the replay",
        "row invented is not in the replay",
        f"count {count} is not in the replay",
        f"slots: input is {slots}, but the outcomes add up to {slots + 1}",
    } == set(report.reconciliation.differences)
    assert 1 == exit_status([report])
    # The query beside the pipeline has decoded the same records.
    assert report.beside
    assert report.log.events.keys() <= {*report.log.sources}
    assert 0.9 * len(report.log.events) < len(report.beside.latencies_ms) <= len(report.log.events)


def test_plans_of_real_time_queries_contain_no_python(spark: SparkSession, settings: Settings) -> None:
    """Only the two queries that always run in micro-batch mode, timeouts and credit, have Python in their plans."""
    plans = {}
    for query in pipeline_queries(settings):
        source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:1")
        source = source.option("includeHeaders", "true").option("subscribe", ",".join(query.sources))
        plans[query] = printed_plan(query.transform(source.load()))

    with_python = {query.name for query, plan in plans.items() if "PySpark" in plan or "Python" in plan}
    assert {"events_to_timeouts", "touches_to_credit"} == with_python
    assert with_python == {query.name for query in plans if query.micro_batch_seconds is not None}


def printed_plan(stream: DataFrame) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        stream.explain()
    return printed.getvalue()


def test_too_few_slots_are_rejected_before_any_start(spark: SparkSession, settings: Settings) -> None:
    """With four partitions per topic, all five queries need more slots than the session has; no query is started."""
    partitions = dict.fromkeys(TOPICS, 4)

    needs = (
        "kafka_to_events 12, events_to_attributed 6, attributed_to_pacing 6, events_to_timeouts 4, touches_to_credit 12"
    )
    with pytest.raises(NotEnoughSlotsError, match=f"need 40 task slots .*{needs}"):
        query_starters(settings, spark, "127.0.0.1:1", partitions, "never-written")
    with pytest.raises(NotEnoughSlotsError, match=r"need 46 .* events_to_timeouts 7, touches_to_credit 15\)"):
        query_starters(replace(settings, python_trigger="real-time"), spark, "127.0.0.1:1", partitions, "never-written")

    assert [] == spark.streams.active


@pytest.mark.parametrize(
    ("is_interrupted", "status", "message"), [(False, 1, "127.0.0.1:1"), (True, 130, "interrupted")]
)
def test_absent_broker_ends_the_command_with_one_line(is_interrupted: bool, status: int, message: str) -> None:
    """The command exits with status 1 and the broker's address, or after Ctrl-C with the status of an interrupt."""
    with demo_process("127.0.0.1:1") as demo:
        if is_interrupted:
            eventually(lambda: "starting Kafka" in demo.printed("output"), 60, "the start")
            demo.process.send_signal(signal.SIGINT)
        assert status == demo.process.wait(60)
        errors = demo.printed("errors")

    assert message in errors.splitlines()[-1]
    assert "Traceback" not in errors
