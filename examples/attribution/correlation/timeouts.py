"""
The correlation rule over time, without Spark: the state of one transaction, its timeouts, and its end.

A timeout never hides a match: its version is higher than that of the pending result, and lower than that of any result
from one more record.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.settings import Windows


@dataclass(frozen=True)
class Transaction:
    """The state of one transaction; times are processing times in UTC milliseconds, 0 means never."""

    history: tuple[Event, ...] = ()
    """Every record once, in order of arrival."""
    evaluated_at: int = 0
    """Time of the last evaluation."""
    last_record_at: int = 0
    """Arrival of the last new record."""


@dataclass(frozen=True)
class Transition:
    """The outcome of an evaluation."""

    transaction: Transaction | None
    """The state to keep, or None if the transaction has ended."""
    changed: list[Result]
    """Results that differ from the previous evaluation."""
    next_timer_at: int
    """The next time at which a result times out or the transaction ends without a new record."""


def advance(
    before: Transaction,
    arrived: Iterable[Event],
    windows: Windows,
    slack_ms: int,
    now: int,
    *,
    timeouts_only: bool = False,
) -> Transition:
    """
    Evaluate a transaction at `now`, with new events or without.

    `timeouts_only` leaves out results that follow from records alone. A timeout counts as changed whenever its version
    grows, because another query may have emitted `pending` for the new record.
    """
    known_records = {event.src for event in before.history}
    new_events = {event.src: event for event in reversed(list(arrived)) if event.src not in known_records}
    after = Transaction(
        (*before.history, *reversed(new_events.values())),
        max(before.evaluated_at, now),
        max(before.last_record_at, now) if new_events else before.last_record_at,
    )
    current = results(after, windows)
    candidates = [result for result in current if is_timeout(result) or not timeouts_only]
    # Most records cause no timeout; then the previous results are not needed.
    previous = {result.result_id: result for result in results(before, windows)} if candidates else {}
    changed = [result for result in candidates if not _is_same(previous.get(result.result_id), result)]
    # A match at the deadline still counts, so the timeout is one millisecond later.
    timeouts_at = [result.deadline + 1 for result in current if result.deadline is not None]
    next_timer_at = min(timeouts_at, default=_ends_at(after, windows, slack_ms))
    return Transition(after if next_timer_at > after.evaluated_at else None, changed, next_timer_at)


def results(transaction: Transaction, windows: Windows) -> list[Result]:
    """Return all results as of the last evaluation; timeouts have odd versions, all others those of the SQL form."""
    by_records, now = correlate(transaction.history, windows), transaction.evaluated_at
    overdue = {result.result_id for result in by_records if result.deadline is not None and result.deadline < now}
    if not overdue:
        return by_records
    by_time = correlate(transaction.history, windows, now)
    pairs = zip(by_records, by_time, strict=True)
    return [timed_out if timed_out.result_id in overdue else result for result, timed_out in pairs]


def is_timeout(result: Result) -> bool:
    """Return whether the result follows from time that has passed, and not from records alone."""
    return result.version % 2 == 1


def _is_same(before: Result | None, after: Result) -> bool:
    if before is None or is_timeout(after):
        return before == after
    return replace(before, version=after.version) == after


def _ends_at(transaction: Transaction, windows: Windows, slack_ms: int) -> int:
    # While the query reads a backlog, the remaining records of an old transaction arrive shortly after its first one.
    oldest_request_ts = min((event.request_ts for event in transaction.history), default=0)
    return max(oldest_request_ts + windows.horizon_ms, transaction.last_record_at) + slack_ms
