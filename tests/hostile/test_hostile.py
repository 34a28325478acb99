"""
More than 500 hostile inputs, the same in each run, for each command that reads foreign files.

Each input has its own process. No process ends in a traceback, takes more than 5 s of processor time or 500 MB, changes
a file that it may not change, or prints text from outside its input. No relevant file is skipped without a message.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.pack.files import ROOT
from tests.hostile.case import INPUT, MARKER, OUTSIDE, Case, file, link
from tests.hostile.run import MAX_MEGABYTES, MAX_SECONDS, problems, run

# The process needs half a minute of processor time, which takes ten minutes on a busy machine.
MAX_WAIT_SECONDS = 880
pytestmark = pytest.mark.timeout(MAX_WAIT_SECONDS + 20)
COMMANDS = ["lint", "inspect", "install", "resize", "errors", "slots", "capacity", "commit", "drain", "stop"]
JOB = file("job.py", "# spark realTime=True\n")


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    from tests.hostile.inputs import CASES  # noqa: PLC0415 - no other worker makes these texts

    return CASES


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[list[str], str]]:
    command = [sys.executable, "-m", "tests.hostile.run"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=True, timeout=MAX_WAIT_SECONDS)
    lines = map(json.loads, done.stdout.splitlines())
    return {name: (found, tail) for name, found, _, _, tail in lines}


def test_there_are_500_cases_with_different_names(cases: list[Case]) -> None:
    assert len(cases) >= 500
    assert len(cases) == len({case.name for case in cases})


@pytest.mark.parametrize("command", COMMANDS)
def test_hostile_input_is_answered_and_does_no_harm(
    command: str, cases: list[Case], results: dict[str, tuple[list[str], str]]
) -> None:
    """Each case of the command has a status that the help documents, a reason, and none of the problems."""
    names = [case.name for case in cases if case.arguments[0] == command]

    assert names
    assert {} == {name: results.get(name, "no result") for name in names if results.get(name, ("none",))[0]}


def _raise(_: Sequence[str]) -> int:
    raise ValueError


def _print(text: str, status: int) -> Callable[[Sequence[str]], int]:
    def command(_: Sequence[str]) -> int:
        print(text)
        return status

    return command


def _write(name: str) -> Callable[[Sequence[str]], int]:
    def command(_: Sequence[str]) -> int:
        Path(name).write_text("x = (\n")
        return 0

    return command


PLANTED: dict[str, tuple[Case, Callable[[Sequence[str]], int], str]] = {
    "crash": (Case("", [], JOB), _raise, "there is a traceback"),
    "wrong status": (Case("", [], JOB), _print("", 7), "the status is 7"),
    "silent file": (Case("", [], JOB, named=["job.py"]), _print("", 0), "the output does not name 'job.py'"),
    "silent error": (Case("", [], JOB), _print("", 2), "no reason for status 2"),
    "leak": (Case("", [], link("out", f"../{OUTSIDE}/secret.py")), _print(MARKER, 0), "contains text from outside"),
    "terminal": (Case("", [], JOB), _print("\x1b[2J", 0), "contains control characters"),
    "changed file": (Case("", [], JOB), _write("job.py"), f"{INPUT}/job.py has changed"),
    "new file": (Case("", [], JOB), _write("new.py"), f"{INPUT}/new.py has changed"),
    "damaged file": (Case("", [], JOB, writes=(INPUT,)), _write("job.py"), f"{INPUT}/job.py is damaged"),
    "file outside": (Case("", [], JOB, writes=(INPUT,)), _write(f"../{OUTSIDE}/secret.py"), "secret.py has changed"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_problem_is_found(name: str) -> None:
    """The check can fail: a misbehaving command has exactly its problem."""
    case, command, problem = PLANTED[name]

    (found,) = problems(case, run(case, command))
    assert problem in found


def test_planted_costs_are_found() -> None:
    """A process above a limit is reported. The measured costs are made up, so the test takes no time."""
    case = Case("", ["slots", "--source-partitions", "1"], JOB)
    result = run(case)
    costly = replace(result, seconds=MAX_SECONDS + 0.1, megabytes=MAX_MEGABYTES + 1)

    assert [] == list(problems(case, result))
    assert ["it took 5.1 s of processor time", "it took 501 MB"] == list(problems(case, costly))
