import sys
from pathlib import Path

from benchmarks.chaos.parts.programs import Program
from spark_rtm.realtime.standby import IS_READY, LEADS
from tests.helpers import eventually


def test_ended_program_is_reported_with_its_error_and_starts_again(tmp_path: Path) -> None:
    lines: list[str] = []
    command = [sys.executable, "-c", "raise ConnectionError('no broker')"]
    follower = Program("follower", command, tmp_path / "log", {}, lines.append)

    def reported(number: int) -> bool:
        follower.poll()
        return len(lines) >= number

    follower.start()
    first = follower.pid
    eventually(lambda: reported(2), 60, "a second start")
    second = follower.pid
    eventually(lambda: reported(3), 60, "a second end")
    follower.stop()

    ended = "the follower has ended: ConnectionError: no broker"
    assert first != second
    assert [ended, "the follower restarts", ended] == lines


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
