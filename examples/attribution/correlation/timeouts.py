"""
What is known of one transaction, what is due, and when it ends: the correlation rule in time, without Spark.

What arrive are a transaction and new events; what leave are the next transaction and the results that changed.
Real-time mode demands that a time-out never stands in the way of a match: its version lies between that of what it
replaces and that of any result with one more record.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.settings import Windows


@dataclass(frozen=True)
class Transaction:
    """All that is known of one transaction; times are the engine's clock in UTC milliseconds, 0 for never."""

    history: tuple[Event, ...] = ()
    """Every record once, in order of arrival."""
    looked_at: int = 0
    """When the last results were given."""
    active_at: int = 0
    """When the last record came."""


@dataclass(frozen=True)
class Step:
    """What follows for a transaction."""

    transaction: Transaction | None
    """What has to be kept, or None when the transaction has ended."""
    changed: list[Result]
    """All results that differ from before."""
    wakes_at: int
    """The next time at which `advance` with nothing new has something to say or to end."""


def advance(
    before: Transaction, arrived: Iterable[Event], windows: Windows, slack_ms: int, now: int, *, only_due: bool = False
) -> Step:
    """
    Return what follows from new events, or from time alone; with `only_due` leave out what records decide.

    A result that is due counts as changed whenever its version grows, because another query may have answered the new
    record with `pending`.
    """
    known = {event.src for event in before.history}
    new = {event.src: event for event in reversed(list(arrived)) if event.src not in known}
    after = Transaction(
        (*before.history, *reversed(new.values())),
        max(before.looked_at, now),
        max(before.active_at, now) if new else before.active_at,
    )
    found = results(after, windows)
    told = [result for result in found if is_due(result) or not only_due]
    # Of most records time decides nothing, and then what was said before does not matter.
    old = {result.result_id: result for result in results(before, windows)} if told else {}
    changed = [result for result in told if not _is_same(old.get(result.result_id), result)]
    # A deadline is the last moment that still matches.
    deadlines = [result.deadline + 1 for result in found if result.deadline is not None]
    wakes_at = min(deadlines, default=_ends_at(after, windows, slack_ms))
    return Step(after if wakes_at > after.looked_at else None, changed, wakes_at)


def results(transaction: Transaction, windows: Windows) -> list[Result]:
    """Return all results as of the last look: those that time decided have odd versions, the others the SQL form's."""
    at_once, now = correlate(transaction.history, windows), transaction.looked_at
    overdue = {result.result_id for result in at_once if result.deadline is not None and result.deadline < now}
    if not overdue:
        return at_once
    in_time = correlate(transaction.history, windows, now)
    return [late if late.result_id in overdue else result for result, late in zip(at_once, in_time, strict=True)]


def is_due(result: Result) -> bool:
    """Tell whether time decided this result, as opposed to a record."""
    return result.version % 2 == 1


def _is_same(before: Result | None, after: Result) -> bool:
    if before is None or is_due(after):
        return before == after
    return replace(before, version=after.version) == after


def _ends_at(transaction: Transaction, windows: Windows, slack_ms: int) -> int:
    # While a backlog is read, the other records of an old transaction come after it, but not much.
    oldest = min((event.request_ts for event in transaction.history), default=0)
    return max(oldest + windows.horizon_ms, transaction.active_at) + slack_ms
