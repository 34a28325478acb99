"""The limits of time and steps for each file."""

import gc
import re
import signal
from pathlib import Path

import pytest

from spark_rtm.lint.engine import lint_paths, lint_text
from spark_rtm.lint.processes import MIN_FILES
from spark_rtm.lint.rules import budget
from spark_rtm.lint.rules.budget import ExhaustedError, OutOfTimeError, Steps, time_limit

EXPONENTIAL = re.compile("(?:a|a)*b")


def test_time_limit_stops_a_long_regular_expression() -> None:
    """The limit also ends a search that would take years. The next file has its own limit."""
    for _ in range(2):
        with pytest.raises(OutOfTimeError), time_limit(0.1):
            EXPONENTIAL.search("a" * 60)


def test_time_limit_restores_timer_and_garbage_collection() -> None:
    """After the limit, the process has its own signal handler, no timer, and its garbage collection."""
    before = signal.getsignal(signal.SIGPROF)

    with time_limit():
        assert not gc.isenabled()

    assert (before, 0.0) == (signal.getsignal(signal.SIGPROF), signal.getitimer(signal.ITIMER_PROF)[0])
    assert gc.isenabled()


def test_time_limit_inside_of_another_one_has_no_effect() -> None:
    """The correction of a file, which checks the file again, has one limit for both."""
    with pytest.raises(OutOfTimeError), time_limit(0.1), time_limit(100):
        EXPONENTIAL.search("a" * 60)


def test_files_beyond_the_total_time_are_unchecked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many slow files do not take hours: those for which no time is left are named. Processes count their own time."""
    names = [f"job{number}.py" for number in range(MIN_FILES)]
    for name in names:
        (tmp_path / name).write_text("w.writeStream.trigger(realTime=True)\n")
    assert {"trigger-duration"} == {finding.rule for finding in lint_paths([tmp_path], processes=2)}

    monkeypatch.setattr(budget, "MAX_TOTAL_SECONDS", 0)

    for processes in (1, 2):
        findings = lint_paths([tmp_path], processes=processes)
        assert [("unchecked", True)] * len(names) == [
            (one.rule, "together took too long" in one.message) for one in findings
        ]


def test_steps_end_exactly_at_their_limit() -> None:
    """All steps can be spent, but not one more."""
    steps = Steps(3)
    steps.spend(2)
    steps.spend()

    with pytest.raises(ExhaustedError):
        steps.spend()


def test_exhausted_steps_keep_the_findings_before() -> None:
    """A trigger above code with too many paths is found, and the line where the check ended is reported."""
    lines = ["w.writeStream.trigger(realTime=True)", "f0 = lambda: 1"]
    lines += [f"f{n} = lambda: [{f'f{n - 1}(), ' * 40}]" for n in range(1, 9)]

    findings = lint_text("\n".join([*lines, "f8()", "w.writeStream.trigger(realTime=True)"]), "job.py")

    assert [(1, "trigger-duration"), (11, "unchecked")] == [(finding.line, finding.rule) for finding in findings]
