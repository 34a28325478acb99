"""Apply the correlation rule over time without Spark: keep state, emit timeouts, and remove old state."""

from collections.abc import Iterable
from dataclasses import dataclass

from examples.attribution.correlation.rule import Event, Result, correlate, distinct
from examples.attribution.correlation.windows import Windows


@dataclass(frozen=True)
class Transaction:
    """The state of one transaction. Times are processing times in UTC milliseconds, and 0 means never."""

    history: tuple[Event, ...] = ()
    """The distinct records in order of arrival, up to the maximum number of events."""
    evaluated_at: int = 0
    """Time of the last evaluation."""
    last_record_at: int = 0
    """Time of the last new record."""


@dataclass(frozen=True)
class Transition:
    """The outcome of one evaluation of a transaction."""

    transaction: Transaction | None
    """The new state. It is None if the transaction has ended."""
    timeouts: list[Result]
    """New timeouts, and earlier timeouts whose version a new record has increased."""
    next_timer_at: int
    """The next time at which, if no record arrives, a result times out or the transaction ends."""


def advance(before: Transaction, arrived: Iterable[Event], windows: Windows, slack_ms: int, now: int) -> Transition:
    """
    Evaluate a transaction at `now`, with or without new events, and return its timeouts.

    A real-time query emits all other results. It may already have emitted a pending result for a new record, so each
    timeout is returned again with the version that replaces that result. The state does not keep records beyond the
    maximum number of events.
    """
    records = distinct((*before.history, *arrived))
    has_new_records = len(records) > len(before.history)
    after = Transaction(
        tuple(records[: windows.max_events]),
        max(before.evaluated_at, now),
        max(before.last_record_at, now) if has_new_records else before.last_record_at,
    )
    current = correlate(after.history, windows, after.evaluated_at)
    # Only timeouts have odd versions.
    timeouts = [result for result in current if result.version % 2]
    # The previous results are needed only if there are timeouts. Most records cause none.
    previous = set(correlate(before.history, windows, before.evaluated_at)) if timeouts else set()
    # An event at the deadline still matches, so the timeout is one millisecond later.
    timeouts_at = [result.deadline + 1 for result in current if result.deadline is not None]
    next_timer_at = min(timeouts_at, default=_ends_at(after, windows, slack_ms))
    new_timeouts = [result for result in timeouts if result not in previous]
    return Transition(after if next_timer_at > after.evaluated_at else None, new_timeouts, next_timer_at)


def _ends_at(transaction: Transaction, windows: Windows, slack_ms: int) -> int:
    # While the query reads a backlog, an old transaction's horizon has already passed when its first record arrives.
    # The remaining records arrive shortly after the first one, so the state is kept until the slack has passed.
    oldest_request_ts = min((event.request_ts for event in transaction.history), default=0)
    return max(oldest_request_ts + windows.horizon_ms, transaction.last_record_at) + slack_ms
