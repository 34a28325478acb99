"""
Define `unchecked`, the finding for unchecked code and text, and the limits of the linter.

`unchecked` is not a mistake in the code. It shows that a run was incomplete.
The steps of a file limit time and memory: each copied entry of a list or dictionary counts as one step.
"""

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
    """Return the finding that the text from `line` on was not checked."""
    return UNCHECKED, Problem(line, reason, remedy)


class ExhaustedError(Exception):
    """Raised if a file needs too many steps."""


class Steps:
    """Counts the remaining steps of a piece of code or a document."""

    def __init__(self, limit: int = MAX_STEPS, error: type[Exception] = ExhaustedError) -> None:
        self.left, self.error = limit, error

    def spend(self, count: int = 1) -> None:
        """Count steps, and raise the error when they are used up."""
        self.left -= count
        if self.left < 0:
            raise self.error


def steps_for(code: str) -> Steps:
    """Return a number of steps proportional to the length of the code, which limits the time for many short files."""
    return Steps(min(MAX_STEPS, MIN_STEPS + STEPS_PER_LETTER * len(code)))
