"""Define what readers and rules report: problems of a text, and parts that were not checked."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

MAX_STEPS = 1_000_000
"""Limit of the work for a file: each followed statement or expression and each copied entry of a value is one step."""
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
    """Raised if a file needs too many steps."""


@dataclass
class _Steps:
    left: int = MAX_STEPS


STEPS = _Steps()
"""The steps that are left for the current file."""


def spend(count: int = 1) -> None:
    """Count steps, and raise ExhaustedError if the current file has used all of its steps."""
    STEPS.left -= count
    if STEPS.left < 0:
        raise ExhaustedError(f"the file needs more than {MAX_STEPS:,} steps, so it was not checked", "split the file")


def check_tokens(count: int, limit: int) -> None:
    """Raise UncheckedError if a text has more tokens than its parser can read in a few seconds."""
    if count > limit:
        raise UncheckedError(f"the text has more than {limit:,} tokens, so it was not checked", "split the file")


class _TimeIsUpError(BaseException):
    """Raised when the time is up. It is not an `Exception`, so no reader treats it as an unreadable part."""


@contextmanager
def time_limit() -> Iterator[None]:
    """
    Allow `MAX_STEPS` steps, and raise UncheckedError if the block takes more than `MAX_SECONDS` of processor time.

    The limit of steps applies everywhere. The limit of time also ends a slow search. It needs a signal, so it does not
    apply on Windows, in browsers and outside of the main thread.
    """
    STEPS.left = MAX_STEPS
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
