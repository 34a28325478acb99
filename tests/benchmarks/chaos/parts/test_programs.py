import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.chaos.parts.programs import Program
from benchmarks.chaos.parts.system import CHECKOUT, PARTS
from examples.attribution.settings import DemoSettings
from spark_rtm.realtime.standby import IS_READY, LEADS
from tests.helpers import eventually


def test_ended_program_is_reported_with_its_error_and_starts_again(tmp_path: Path) -> None:
    """Without a broker and a database, the follower cannot start, so its supervisor restarts it repeatedly."""
    lines: list[str] = []
    dsn = "postgresql://127.0.0.1:1/none"
    servers = {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1", "POSTGRES_DSN": dsn}
    env = {**os.environ, **servers, "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-m", f"{PARTS}.follower", json.dumps(asdict(DemoSettings()))]
    follower = Program("follower", command, tmp_path / "log", env, lines.append)

    def reported(number: int) -> bool:
        follower.poll()
        return len(lines) >= number

    follower.start()
    first = follower.pid
    eventually(lambda: reported(2), 60, "a second start")
    second = follower.pid
    eventually(lambda: reported(3), 60, "a second end")
    follower.stop()

    assert lines[0].startswith("the follower has ended: psycopg.OperationalError: ")
    assert first != second
    assert "the follower restarts" == lines[1]
    assert lines[2].startswith("the follower has ended")


def test_driver_is_the_program_that_took_over_last(tmp_path: Path) -> None:
    """A standby with the lock is the driver; a standby that waits for the lock is ready."""
    first, second = (Program(name, (), tmp_path / name, {}, print) for name in ("driver", "standby"))
    first.log_path.write_text(f"spark_rtm.realtime.keeper: {LEADS}\n")
    second.log_path.write_text(f"spark_rtm.realtime.keeper: {IS_READY}\n")
    seen = []
    for _ in range(2):
        for program in (first, second):
            program.poll()
        seen.append((max(first, second, key=lambda program: program.led_at).name, second.is_ready))
        with second.log_path.open("a") as log:
            log.write(f"spark_rtm.realtime.keeper: {LEADS}\n")

    assert [("driver", True), ("standby", False)] == seen
