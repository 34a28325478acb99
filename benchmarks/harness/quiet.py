"""
Wait until the machine is free for the benchmark.

Another busy program during the run of one engine would make this engine look slow.
"""

import threading
import time

from rich.console import Console

from spark_rtm.measure.cpu import OtherPrograms

PROBE_SECONDS = 4.0
MAX_WAIT_SECONDS = 600.0


def wait_until_quiet(console: Console, max_cores: float, max_wait_seconds: float = MAX_WAIT_SECONDS) -> None:
    """Wait until other programs use at most `max_cores` cores. Raise RuntimeError after the deadline."""
    deadline, is_told = time.monotonic() + max_wait_seconds, False
    while (cores := foreign_cores()) > max_cores:
        used = f"other programs use {cores:.2f} cores, but only {max_cores:g} are allowed"
        if time.monotonic() > deadline:
            raise RuntimeError(
                f"{used}, so engines cannot be compared; this has not changed within {max_wait_seconds:g} s; "
                "stop these programs and start again"
            )
        if not is_told:
            console.print(f"waiting: {used}")
            is_told = True


def foreign_cores() -> float:
    """Return the number of cores that other programs use now, measured for a few seconds."""
    started_at, programs = time.monotonic(), OtherPrograms()
    threading.Event().wait(PROBE_SECONDS)
    return programs.used() / (time.monotonic() - started_at)
