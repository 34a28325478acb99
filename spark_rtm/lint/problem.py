"""Define what readers and rules report: problems of a text, and parts that limits of work leave unchecked."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

MAX_STEPS = 1_000_000
"""Limit of the time and memory for a file: each copied entry of a list or dictionary counts as one step."""
MIN_STEPS = 20_000
STEPS_PER_LETTER = 10
MAX_SECONDS = 4.0
"""Limit of the processor time for a file."""
REPEAT_SECONDS = 0.1


@dataclass(frozen=True)
class Problem:
    """One violation of a rule, or one unchecked part. `engine` and `severity` override the rule's values."""

    line: int
    message: str
    fix: str
    engine: tuple[str, ...] = ()
    severity: str = ""
    lines: frozenset[int] = frozenset()
    """Lines of the query. A mark on one of them covers the problem."""

    def at(self, line: int) -> Problem:
        """Return a copy of the problem on another line, without the query's lines."""
        return replace(self, line=line, lines=frozenset())


class UncheckedError(Exception):
    """Raised if a file or a part of it cannot be checked."""

    def __init__(self, reason: str, remedy: str, line: int = 1) -> None:
        super().__init__(reason)
        self.problem = Problem(line, reason, remedy)


class UnreadableError(UncheckedError):
    """Raised if a document cannot be parsed."""

    def __init__(self, line: int = 1, parser: str = "") -> None:
        super().__init__(f"the file cannot be parsed{parser}, so it was not checked", "correct its syntax", line)


class ExhaustedError(UncheckedError):
    """Raised if a document has too many tokens, or a piece of code needs too many steps."""


class Steps:
    """Counts the remaining steps for a piece of code, or the remaining tokens of a document."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    def spend(self, count: int = 1) -> None:
        """Count steps, and raise ExhaustedError when they are used up."""
        self.left -= count
        if self.left < 0:
            reason = f"the document has more than {self.limit:,} tokens, so it was not checked"
            raise ExhaustedError(reason, "split the document")


def steps_for(code: str) -> Steps:
    """Return a step limit proportional to the length of the code. This limits the time for many short files."""
    return Steps(min(MAX_STEPS, MIN_STEPS + STEPS_PER_LETTER * len(code)))


class _TimeIsUpError(BaseException):
    """Raised when the time is up. It is not an `Exception`, so no reader treats it as an unreadable part."""


@contextmanager
def time_limit() -> Iterator[None]:
    """
    Raise UncheckedError if the block takes more than `MAX_SECONDS` of processor time.

    The limit of steps holds everywhere. This one also ends a slow search, but needs a signal, so it does nothing on
    Windows, in browsers and outside of the main thread.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGVTALRM, _raise)
    try:
        try:
            # Python drops an exception that a signal raises in a callback, for example of the garbage collector.
            signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS, REPEAT_SECONDS)
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except _TimeIsUpError:
        reason = f"the check took more than {MAX_SECONDS:g} s of processor time, so the file was not checked"
        raise UncheckedError(reason, "split the file") from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def _raise(*_: object) -> None:
    raise _TimeIsUpError
