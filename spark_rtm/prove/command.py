"""The `rtm prove` command: run the job and the checks in a child process, and print the child's events."""

import json
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import psutil
import pyspark

from spark_rtm.program import UsageError
from spark_rtm.prove import Arguments
from spark_rtm.prove.child import DONE, EVENTS, ORDER, SAY, START, STOP, VERDICT
from spark_rtm.prove.job.runner import CANNOT, lost
from spark_rtm.prove.verdicts import CHECKS, RESULTS, Verdict, exit_status, render, summary
from spark_rtm.services.child import Child, start_child
from spark_rtm.services.folders import new_folder

PROGRAM = "import pathlib, sys; sys.path[:] = {}; from spark_rtm.prove.child import main; main(pathlib.Path({!r}))"
LOG, MARK = "log", "TMPDIR"
POLL_SECONDS, SILENT_SECONDS, KILL_SECONDS = 0.05, 10.0, 10.0


def run(arguments: Arguments) -> int:
    """Prove a target. Print verdicts to standard output and progress to standard error."""
    progress, verdicts, here = _Progress(), list[Verdict](), Path.cwd()
    stop = ""
    # A shell's background jobs ignore SIGINT, and SIGTERM would leave child processes running.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        with closing(_events(arguments, progress)) as events:
            for kind, content in events:
                if kind == SAY:
                    progress.say(content)
                elif kind == VERDICT:
                    verdicts.append(_relative(Verdict(**content), here))
                    if arguments.format == "text":
                        print(render(verdicts[-1:], "text", {}), flush=True)
                else:
                    stop = content
    except KeyboardInterrupt:
        progress.say("interrupted; all processes have ended")
        return 130
    _print(arguments, verdicts, stop, progress)
    if stop:
        raise UsageError(stop)
    progress.say("done")
    return exit_status(verdicts)


def _print(arguments: Arguments, verdicts: list[Verdict], stop: str, progress: "_Progress") -> None:
    conditions = {
        "command": f"rtm prove {arguments.target}",
        "date": datetime.now(UTC).date().isoformat(),
        "pyspark": pyspark.__version__,
        "cores": os.cpu_count(),
        "seconds": round(progress.seconds()),
        **({"stop": stop} if stop else {}),
    }
    if arguments.format == "text" and not stop:
        print(summary(verdicts), flush=True)
    if arguments.format != "text" and (verdicts or not stop):
        verdicts.sort(key=lambda verdict: [*CHECKS, RESULTS].index(verdict.check))
        print(render(verdicts, arguments.format, conditions), flush=True)


def _events(arguments: Arguments, progress: "_Progress") -> Generator[tuple[str, Any]]:
    """Start the child process, yield its events up to `STOP` or `DONE`, and end all processes."""
    folder = new_folder("prove")
    (folder / ORDER).write_bytes(pickle.dumps((arguments, Path.cwd())))
    (folder / EVENTS).touch()
    command = [sys.executable, "-c", PROGRAM.format(sys.path, str(folder))]
    has_started = False
    try:
        # Every process of the run inherits this variable, even a process that leaves the session.
        child = start_child("prove", command, log_path=folder / LOG, env={**os.environ, MARK: str(folder)})
        for kind, content in _sent(child, folder / EVENTS, progress):
            has_started |= content == START
            yield kind, f"{CANNOT if has_started else 'prove'}: {content}" if kind == STOP else content
            if kind in {STOP, DONE}:
                return
        log = (folder / LOG).read_text(errors="replace")
        yield STOP, f"{CANNOT}: {lost(log, arguments.target, child.supervisor.returncode)}"
    finally:
        _kill(folder)


def _sent(child: Child, path: Path, progress: "_Progress") -> Iterator[tuple[str, Any]]:
    pause, text = threading.Event(), ""
    with path.open(encoding="utf-8") as file:
        while True:
            is_running = child.is_running()
            text += file.read()
            *lines, text = text.split("\n")
            yield from map(json.loads, lines)
            if not is_running:
                return
            progress.remind()
            pause.wait(POLL_SECONDS)


def _kill(folder: Path) -> None:
    """Kill all processes of the run, including processes that have left the session."""
    while found := [process for process in psutil.process_iter() if _is_marked(process, folder)]:
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, KILL_SECONDS)


def _is_marked(process: psutil.Process, folder: Path) -> bool:
    try:
        return str(process.environ().get(MARK, "")).startswith(str(folder))
    except (psutil.Error, OSError):
        return False


def _interrupt(*_: object) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _relative(verdict: Verdict, here: Path) -> Verdict:
    path = (here / verdict.path).resolve()
    is_inside = bool(verdict.path) and path.is_relative_to(here)
    return replace(verdict, path=path.relative_to(here).as_posix()) if is_inside else verdict


class _Progress:
    def __init__(self) -> None:
        self._started = self._said = time.monotonic()
        self._step = ""

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self._started

    def say(self, step: str) -> None:
        self._step, self._said = step, time.monotonic()
        print(f"{self.seconds():5.0f} s  {step}", file=sys.stderr, flush=True)

    def remind(self) -> None:
        """Print the current step again if nothing was printed for some time."""
        if self._step and time.monotonic() - self._said > SILENT_SECONDS:
            self.say(self._step if self._step.startswith("still ") else f"still {self._step}")
