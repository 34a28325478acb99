"""Limit the processor time for one file."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from spark_rtm.lint.problem import UncheckedError

MAX_SECONDS = 4.0


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
            signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except _TimeIsUpError:
        reason = f"the check took more than {MAX_SECONDS:g} s of processor time, so the file was not checked"
        raise UncheckedError(reason, "split the file") from None
    finally:
        signal.signal(signal.SIGVTALRM, previous)


def _raise(*_: object) -> None:
    raise _TimeIsUpError
