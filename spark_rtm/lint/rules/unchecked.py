"""
Define `unchecked`, the finding for code and text that the linter did not check.

`unchecked` is no mistake in the code. It keeps an incomplete run from looking like a run without findings.
"""

from __future__ import annotations

from spark_rtm.lint.rules.rule import BOTH, Problem, Rule, RuleProblem

UNCHECKED = Rule("unchecked", "file", BOTH, "warning", lambda _: iter(()))


class UncheckedError(Exception):
    """Raised if a file or a part of it cannot be checked."""

    def __init__(self, reason: str, remedy: str, line: int = 1) -> None:
        super().__init__(reason)
        self.problem = unchecked(reason, remedy, line)


def unchecked(reason: str, remedy: str, line: int = 1) -> RuleProblem:
    """Return a finding which states that the text from `line` on was not checked."""
    return UNCHECKED, Problem(line, reason, remedy)
