"""
Define `unchecked`, the finding for code and text that the linter did not check, and the limits of what it checks.

`unchecked` is no mistake in the code. It keeps an incomplete run from looking like a run without findings.
The steps of a file limit the time, and the memory too: each copied entry of a list or dictionary counts as one step.
"""

from __future__ import annotations

from spark_rtm.lint.rules.rule import BOTH, Problem, Rule, RuleProblem

MAX_STEPS = 1_000_000
MIN_STEPS = 20_000
STEPS_PER_LETTER = 10
UNCHECKED = Rule("unchecked", "file", BOTH, "warning", lambda _: iter(()))


class UncheckedError(Exception):
    """Raised if a file or a part of it cannot be checked."""

    def __init__(self, reason: str, remedy: str, line: int = 1) -> None:
        super().__init__(reason)
        self.problem = unchecked(reason, remedy, line)


def unchecked(reason: str, remedy: str, line: int = 1) -> RuleProblem:
    """Return a finding which states that the text from `line` on was not checked."""
    return UNCHECKED, Problem(line, reason, remedy)


class ExhaustedError(Exception):
    """Raised if the steps of a file are used up."""


class Steps:
    """Counts the steps that are left for one piece of code or one document."""

    def __init__(self, limit: int = MAX_STEPS, error: type[Exception] = ExhaustedError) -> None:
        self.left, self.error = limit, error

    def spend(self, count: int = 1) -> None:
        """Count steps, and raise the error if none are left."""
        self.left -= count
        if self.left < 0:
            raise self.error


def steps_for(code: str) -> Steps:
    """Return steps in proportion to the length of the code, so a thousand short files need no hours."""
    return Steps(min(MAX_STEPS, MIN_STEPS + STEPS_PER_LETTER * len(code)))
