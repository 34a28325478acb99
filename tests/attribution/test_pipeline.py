"""The whole pipeline: it reconciles after outages, crashes and restarts, and reports every difference."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.attribution.correlation.rule import Result
from examples.attribution.pipeline import query_starters
from examples.attribution.settings import Settings
from examples.attribution.topics import TOPICS
from spark_rtm.realtime.slots import NotEnoughSlotsError
from tests.helpers import eventually, produce

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(600)]

CHECKOUT = Path(__file__).parents[2]


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


def test_invented_result_fails_an_otherwise_correct_run(kafka: str, settings: Settings) -> None:
    """After Ctrl-C, the command waits for all results, reports exactly the invented ones, and exits with status 1."""
    at = 1_000_000 * int(time.time() // 1_000)
    invented = Result("invented", 2, "slot", "filled", "invented", at, "c", at, "nowhere", at, clock_skew=False)
    produce(kafka, settings.topic("ad-attributed"), [(0, json.dumps(asdict(invented)).encode())])
    # Windows of minutes take a second or two, so the run is drained sooner. On a busy machine, the timeouts can be
    # minutes behind; with the default slack, they would count as late.
    options = ["--duration=0", "--warm-up-seconds=1", "--rate=30", "--time-scale=600", "--watermark-slack-ms=600000"]

    with demo_process(kafka, *options, "--compare", "--topic-prefix", settings.topic_prefix) as demo:
        eventually(
            lambda: re.search(r"running: .* p50 \d.* in micro-batch mode", demo.printed("output")), 200, "results"
        )
        demo.process.send_signal(signal.SIGINT)
        assert 1 == demo.process.wait(400)
        output = demo.printed("output")

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
    assert "4 differences from the replay of" in output
    # The query beside the pipeline has decoded the same records.
    assert "decode, both modes side by side: p50" in output
    assert "pauses of events_to_attributed at batch boundaries" in output


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
