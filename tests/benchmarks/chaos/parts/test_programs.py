from pathlib import Path

from benchmarks.chaos.parts.programs import Program
from spark_rtm.realtime.standby import IS_READY, LEADS


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
