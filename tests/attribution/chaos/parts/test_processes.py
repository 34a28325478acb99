"""Processes are found although others end at the same time."""

import subprocess
import sys

import psutil
import pytest

from examples.attribution.chaos.processes import command_of, paused

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


def test_pause_spares_a_process_that_has_the_number_of_an_ended_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start time of a process is compared too."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert b"started\n" == child.stdout.readline()
        ended = psutil.Process(child.pid)
        monkeypatch.setattr(ended, "_ident", (child.pid, 1.0))  # the number and the start time

        with paused([ended]):
            status = psutil.Process(child.pid).status()
        child.kill()

    assert psutil.STATUS_STOPPED != status
