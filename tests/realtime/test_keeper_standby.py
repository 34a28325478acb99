"""A standby takes over after kill -9 of the leader, and two processes never lead at once."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from spark_rtm.realtime.control import ControlError
from spark_rtm.realtime.queries import wait_until
from spark_rtm.realtime.warm_up import warm_up_silently
from tests.helpers import end_offset, new_topic, produce, texts_of

SESSION = """
import os, sys, threading
from pathlib import Path
from types import SimpleNamespace
from py4j.java_gateway import JavaGateway
from spark_rtm.realtime.queries import wait_until
from spark_rtm.realtime.standby import Standby, leading
from spark_rtm.services.java import java_home

folder = Path(sys.argv[1])
# Spark starts its JVM with this option too.
options = ["--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"]
gateway = JavaGateway.launch_gateway(javaopts=options, java_path=str(java_home() / "bin/java"), die_on_exit=True)
spark, standby = SimpleNamespace(_jvm=gateway.jvm), Standby(folder / "lock")
"""
HOLDER = f"""{SESSION}
def read_in_jvm():
    gateway.jvm.java.io.FileInputStream(str(standby.lock_path)).close()

pause = threading.Event().wait

def use_twice():
    with leading(spark, standby, threading.Event()):
        return "leads twice"

with leading(spark, standby, threading.Event()) as check:
    (folder / f"leads-{{os.getpid()}}").touch()
    for line in sys.stdin:
        try:
            print(eval(line), flush=True)
        except RuntimeError as error:
            print(error, flush=True)
"""
RACER = f"""{SESSION}
for _ in range(int(sys.argv[2])):
    with leading(spark, standby, threading.Event()):
        os.close(os.open(folder / "leader", os.O_CREAT | os.O_EXCL))
        (folder / "leader").unlink()
(folder / f"raced-{{os.getpid()}}").touch()
wait_until(lambda: len(list(folder.glob("raced-*"))) == 2, 120, "the end of the race")
with leading(spark, standby, threading.Event()), (folder / "leaders").open("a", buffering=1) as leaders:
    leaders.write(f"{{os.getpid()}} {{spark._jvm.java.lang.ProcessHandle.current().pid()}}\\n")
    sys.stdin.read()
"""
JOB = """
import logging, sys
from pathlib import Path
from spark_rtm.realtime import control
from spark_rtm.realtime.keeper import keep
from spark_rtm.realtime.queries import KAFKA_SINK
from spark_rtm.realtime.standby import Standby
from spark_rtm.services.spark import build_session

servers, folder, source, target = sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]
logging.basicConfig(stream=sys.stdout, format="%(message)s")
logging.getLogger("spark_rtm.realtime.keeper").setLevel(logging.INFO)
spark, kafka = build_session("standby", slots=4), {"kafka.bootstrap.servers": servers}


def starters(checkpoints):
    def start():
        rows = spark.readStream.format(control.SOURCE).options(**kafka, subscribe=source, startingOffsets="earliest")
        counts = rows.load().groupBy("value").count().selectExpr("value || ' ' || count as value")
        writer = counts.writeStream.format("kafka").options(**kafka, **KAFKA_SINK, topic=target).queryName("counts")
        writer = writer.option("checkpointLocation", str(checkpoints / "counts")).outputMode("update")
        return writer.trigger(realTime="5 minutes").start()

    return {"counts": start}


keep(spark, starters(folder), standby=Standby(folder / "lock", starters))
"""


@contextmanager
def running(program: str, *arguments: str) -> Iterator[Popen[str]]:
    command = [sys.executable, "-c", program, *arguments]
    with Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait_for_line(process: Popen[str], beginning: str) -> None:
    assert process.stdout is not None
    assert any(line.startswith(beginning) for line in process.stdout), beginning


def test_processes_never_lead_at_once(tmp_path: Path) -> None:
    """Two processes take the lead 50 times each. Then the leader is killed, and the other one waits for its JVM."""
    leaders = tmp_path / "leaders"

    def led() -> list[int]:
        return [int(pid) for pid in leaders.read_text().split()] if leaders.exists() else []

    with ExitStack() as stack:
        pids = {stack.enter_context(running(RACER, str(tmp_path), "50")).pid for _ in range(2)}
        wait_until(lambda: len(led()) == 2, 120, "the end of the race")
        python, java = led()
        os.kill(java, signal.SIGSTOP)
        os.kill(python, signal.SIGKILL)
        # The paused JVM may still write when it continues, so no other process may lead.
        with pytest.raises(TimeoutError):
            wait_until(lambda: len(led()) > 2, 1, "a second leader")
        os.kill(java, signal.SIGKILL)
        wait_until(lambda: len(led()) == 4, 30, "the second leader")
        assert pids == set(led()[::2])


def ask(process: Popen[str], expression: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    print(expression, file=process.stdin, flush=True)
    return process.stdout.readline().strip()


def test_leader_keeps_its_lock_until_the_file_is_gone(tmp_path: Path) -> None:
    """Its JVM may read the file. A process that waits for a deleted file does not lead before its leader ends."""
    path = tmp_path / "lock"

    def wait_for_lead(process: Popen[str], seconds: float = 30) -> None:
        wait_until((tmp_path / f"leads-{process.pid}").exists, seconds, f"the lead of {process.pid}")

    def start(stack: ExitStack) -> Popen[str]:
        process = stack.enter_context(running(HOLDER, str(tmp_path)))
        opened = psutil.Process(process.pid).open_files
        wait_until(lambda: any(file.path == str(path) for file in opened()), 30, f"the open file of {process.pid}")
        return process

    with ExitStack() as stack:
        wait_for_lead(leader := start(stack))
        second = start(stack)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert ask(leader, "use_twice()").startswith(f"this JVM already uses the lock file {path}")
        # The second process tries to lead, and then the leader's checks lock the byte of the JVM again.
        ask(leader, "(read_in_jvm(), pause(0.3), [(check(), pause(0.02)) for _ in range(20)])")
        ask(leader, "bool(standby.lock_path.read_text())")
        with pytest.raises(TimeoutError):
            wait_for_lead(second, 1)
        # Both processes close the file before the next check, as if a file server had forgotten the leader.
        # The file is longer than the name of the next leader, which replaces its content.
        ask(leader, "(os.truncate(standby.lock_path, 200), standby.lock_path.read_text(), read_in_jvm())")
        wait_for_lead(second)
        assert f"{second.pid}' has locked {path}" in ask(leader, "check()")

        third = start(stack)
        path.unlink()
        assert "was deleted or replaced" in ask(second, "check()")
        wait_for_lead(fourth := start(stack))
        os.killpg(second.pid, signal.SIGKILL)
        with pytest.raises(TimeoutError):
            wait_for_lead(third, 1)
        assert "None" == ask(fourth, "check()")
        os.killpg(fourth.pid, signal.SIGKILL)
        wait_for_lead(third)


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.timeout(200)
def test_standby_takes_over_after_a_kill_without_a_gap(kafka: str, tmp_path: Path) -> None:
    """A warm standby has written nothing; after kill -9 of the driver, it continues the checkpoint."""
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    arguments = (JOB, kafka, str(tmp_path), source, target)

    def send(rows: int) -> None:
        before = end_offset(kafka, target)
        produce(kafka, source, [(0, b"a")] * rows)
        wait_until(lambda: end_offset(kafka, target) >= before + rows, 60, "results")

    with running(*arguments) as driver:
        wait_for_line(driver, "this process has the lock")
        send(3)
        with running(*arguments) as standby:
            wait_for_line(standby, "this process is ready")
            send(2)
            assert ["a 1", "a 2", "a 3", "a 4", "a 5"] == texts_of(kafka, target)
            os.kill(driver.pid, signal.SIGKILL)  # its JVM ends without a signal
            killed = time.monotonic()
            wait_for_line(standby, "this process has the lock")
            produce(kafka, source, [(0, b"a")])
            wait_until(lambda: texts_of(kafka, target)[-1:] == ["a 6"], 60, "the new result")
            assert time.monotonic() - killed < 30
            # A state store can write a snapshot after its query has ended. Nothing else may remain.
            left = {path.name for folder in tmp_path.glob("warm-up-*") for path in folder.glob("*/*")}
            assert left <= {"state"}
            assert ["a 1", "a 2", "a 3", "a 4", "a 5"] == texts_of(kafka, target)[5:10]


@pytest.mark.services
def test_warm_up_silently_refuses_a_source_that_reads(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Kafka's own source would write another process's results again."""
    topic = new_topic(kafka, 1)
    rows = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("subscribe", topic).load()

    def starters(folder: Path) -> dict[str, Any]:
        writer = rows.writeStream.format("noop").queryName("plain").option("checkpointLocation", str(folder))
        return {"plain": writer.trigger(processingTime="1 second").start}

    with pytest.raises(ControlError, match=r"query 'plain' has a source that reads.*'rtm-kafka'"):
        warm_up_silently(spark, starters, tmp_path, lambda: False)

    assert [] == spark.streams.active
    assert [] == list(tmp_path.iterdir())
