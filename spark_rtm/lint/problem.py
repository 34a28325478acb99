"""Define the results that readers and rules report: problems in a text, and parts that were not checked."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

MAX_STEPS = 1_000_000
"""Maximum number of steps per file. Each statement, expression or copied entry is one step."""
MAX_SECONDS = 4.0
"""Maximum processor time per file in seconds."""
REPEAT_SECONDS = 0.1


@dataclass(frozen=True)
class Problem:
    """A rule violation, or an unchecked part. `engine` and `severity` override the rule's values."""

    line: int
    message: str
    fix: str
    engine: tuple[str, ...] = ()
    severity: str = ""
    lines: frozenset[int] = frozenset()
    """The query's lines. A mark on any of these lines covers the problem."""

    def at(self, line: int) -> Problem:
        """Return a copy of the problem with a different line, and without the query's lines."""
        return replace(self, line=line, lines=frozenset())


class UncheckedError(Exception):
    """Raised if a file or a part of the file cannot be checked."""

    def __init__(self, reason: str, remedy: str, line: int = 1) -> None:
        super().__init__(reason)
        self.problem = Problem(line, reason, remedy)


class UnreadableError(UncheckedError):
    """Raised if a document cannot be parsed."""

    def __init__(self, line: int = 1, parser: str = "") -> None:
        super().__init__(f"the file cannot be parsed{parser}, so it was not checked", "correct the syntax", line)


class ExhaustedError(UncheckedError):
    """Raised if a file needs too many steps."""


@dataclass
class _Steps:
    left: int = MAX_STEPS


STEPS = _Steps()
"""The remaining steps for the current file."""


def spend(count: int = 1) -> None:
    """Subtract `count` from the remaining steps. Raise ExhaustedError if the current file has no steps left."""
    STEPS.left -= count
    if STEPS.left < 0:
        problem = f"the linter needs more than {MAX_STEPS:,} steps for this file, so the file was not checked"
        raise ExhaustedError(problem, "split the file")


def check_tokens(count: int, limit: int) -> None:
    """Raise UncheckedError if a text has more tokens than its parser can read in a few seconds."""
    if count > limit:
        raise UncheckedError(f"the text has more than {limit:,} tokens, so it was not checked", "split the file")


class _TimeIsUpError(BaseException):
    """Raised at the time limit. It is a BaseException, so readers do not treat it as an unreadable part."""


@contextmanager
def time_limit() -> Iterator[None]:
    """
    Allow `MAX_STEPS` steps, and raise UncheckedError if the block takes more than `MAX_SECONDS` of processor time.

    The step limit applies everywhere. The time limit can also interrupt a slow regular expression. It requires a
    signal, so it does not apply on Windows, in browsers or outside the main thread.
    """
    STEPS.left = MAX_STEPS
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGVTALRM, _raise)
    try:
        try:
            # Repeat the signal, because Python ignores exceptions in some callbacks, for example in finalizers.
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
