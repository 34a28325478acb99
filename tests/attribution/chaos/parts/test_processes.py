"""Processes are found although others end at the same time."""

import subprocess
import sys

import psutil

from examples.attribution.chaos.processes import command_of

PROGRAM = "print('started', flush=True); input()"


def test_ended_process_has_no_command_line() -> None:
    """A process can end after it was listed; the search for other processes continues."""
    child = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert "started\n" == child.stdout.readline()
    process = psutil.Process(child.pid)
    before = command_of(process)

    child.communicate("end\n", timeout=60)

    assert [sys.executable, "-c", PROGRAM] == before
    assert [""] == command_of(process)
