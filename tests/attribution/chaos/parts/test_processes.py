"""Processes are found although others end at the same time."""

import subprocess
import sys

import psutil

from examples.attribution.chaos.processes import command_of


def test_ended_process_has_no_command_line() -> None:
    """A process can end after it was listed, and the search for another process continues."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = psutil.Process(child.pid)
    before = command_of(process)

    child.communicate(b"end\n", timeout=60)

    assert [sys.executable, "-c", "input()"] == before
    assert [""] == command_of(process)
