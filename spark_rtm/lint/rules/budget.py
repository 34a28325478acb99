"""
Limit the steps that the code or the document of one file needs.

The steps limit the time, and the memory too, because each copied entry of a list or dictionary counts as one step.
"""

from __future__ import annotations

MAX_STEPS = 1_000_000
MIN_STEPS = 20_000
STEPS_PER_LETTER = 10


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
