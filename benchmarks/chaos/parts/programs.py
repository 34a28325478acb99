"""Start the driver and the follower as separate processes, restart them, and read their logs."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spark_rtm.realtime.standby import IS_READY, LEADS
from spark_rtm.services.child import Child, start_child

RESTART_PAUSE_SECONDS = 1.0
STANDBY_PAUSE_SECONDS = 20.0
"""Pause before a driver restarts as a standby. An earlier restart would take CPU time from the new leader."""
STOP_SECONDS = 60.0
DECISION = "spark_rtm.realtime.keeper: "
"""First words of a log line with a decision of the keeper."""
ERROR = re.compile(r"[\w.]+(?:Error|Exception): ")


@dataclass
class Program:
    """A program of the pipeline. `poll` restarts it, as a supervisor would in production."""

    name: str
    command: Sequence[str]
    log_path: Path
    """File for the program's output."""
    env: Mapping[str, str]
    report: Callable[[str], None]
    """Called with each line for the user."""
    changed_at: float = 0
    """Time of the last start, end or keeper decision of the program, in epoch seconds."""
    led_at: float = 0
    """Time at which the program last got the lock, in a run with a standby, in epoch seconds."""
    is_ready: bool = False
    """Whether the program is a standby that can take over."""
    child: Child | None = field(default=None, init=False)
    _read_bytes: int = field(default=0, init=False)
    _due: float = field(default=0, init=False)
    _is_killed: bool = field(default=False, init=False)

    @property
    def pid(self) -> int:
        """Return the process id of the current run."""
        if self.child is None:
            raise RuntimeError(f"the {self.name} has not started")
        return self.child.pid

    def is_running(self) -> bool:
        """Return whether the program is running."""
        return self.child is not None and self.child.is_running()

    def start(self) -> None:
        """Start the program."""
        self.child = start_child(
            f"the {self.name}", self.command, log_path=self.log_path, env=self.env, grace_seconds=STOP_SECONDS
        )
        self.changed_at, self.is_ready = time.time(), False

    def poll(self, restart_seconds: float = RESTART_PAUSE_SECONDS) -> None:
        """Report new decisions of the keeper. If the program has exited, restart it after `restart_seconds`."""
        for line in self._new_lines():
            if line.startswith(DECISION):
                self._note(line.removeprefix(DECISION))
        if self.child is None or self.child.is_running():
            return
        if not self._due:
            self._due = time.monotonic() + restart_seconds
            self.changed_at = time.time()
            self.report(f"the {self.name} has ended{'' if self._is_killed else f': {self.last_line()}'}")
        elif time.monotonic() >= self._due:
            self._due, self._is_killed = 0, False
            self.report(f"the {self.name} restarts")
            self.start()

    def kill(self) -> None:
        """Kill the program and its process group."""
        if self.child:
            self._is_killed = True
            self.child.kill()

    def stop(self) -> None:
        """Ask the program to finish, and wait until it has exited."""
        if self.child:
            self.child.stop()

    def _note(self, decision: str) -> None:
        self.changed_at = time.time()
        if decision.startswith(LEADS):
            self.led_at = self.changed_at
        self.is_ready = decision.startswith(IS_READY)
        self.report(f"{decision} ({self.name})" if self.is_ready or self.led_at == self.changed_at else decision)

    def _new_lines(self) -> list[str]:
        if not self.log_path.exists():
            return []
        with self.log_path.open("rb") as log:
            log.seek(self._read_bytes)
            complete = log.read().rpartition(b"\n")[0]
        self._read_bytes += len(complete) + bool(complete)
        return complete.decode(errors="replace").splitlines()

    def last_line(self) -> str:
        """Return the last error line of the log or, if there is no error, the last line."""
        lines = [line for line in self.log_path.read_text(errors="replace").splitlines() if line.strip()]
        return next(filter(ERROR.match, reversed(lines)), lines[-1] if lines else "no output")
