"""Which errors are worth another attempt."""

import psycopg
import pytest
from psycopg import errors

from examples.sinks.retry import is_transient, pause_s

CASES: dict[str, tuple[psycopg.Error, bool, int, bool]] = {
    # error, is the connection alive, statement timeouts so far, try again
    "killed-backend": (errors.AdminShutdown(), False, 0, True),
    "connection-lost": (psycopg.OperationalError("server closed the connection"), False, 0, True),
    "too-many-parameters": (psycopg.OperationalError("number of parameters must be ..."), True, 0, False),
    "deadlock": (errors.DeadlockDetected(), True, 0, True),
    "serialization": (errors.SerializationFailure(), True, 0, True),
    "too-many-connections": (errors.TooManyConnections(), False, 0, True),
    "lock-timeout": (errors.LockNotAvailable(), True, 0, True),
    "read-only-standby": (errors.ReadOnlySqlTransaction(), True, 0, True),
    "second-statement-timeout": (errors.QueryCanceled(), True, 2, True),
    "third-statement-timeout": (errors.QueryCanceled(), True, 3, False),
    "value-out-of-range": (errors.NumericValueOutOfRange(), True, 0, False),
    "null-in-key": (errors.NotNullViolation(), True, 0, False),
    "no-such-table": (errors.UndefinedTable(), True, 0, False),
    "key-twice": (errors.CardinalityViolation(), True, 0, False),
    "nul-byte": (psycopg.DataError("PostgreSQL text fields cannot contain NUL"), True, 0, False),
    "unknown-option": (psycopg.ProgrammingError("invalid connection option"), False, 0, False),
}


@pytest.mark.parametrize(("error", "is_connected", "timeouts", "expected"), CASES.values(), ids=CASES)
def test_what_may_pass_by_itself_is_tried_again(
    error: psycopg.Error, is_connected: bool, timeouts: int, expected: bool
) -> None:
    """A fail-over or a deadlock passes; a row that does not fit never will."""
    assert expected is is_transient(error, is_connected=is_connected, timeouts=timeouts)


@pytest.mark.parametrize(("attempt", "bound_s"), [(0, 0.05), (1, 0.1), (5, 1.6), (6, 2.0), (2_000, 2.0)])
def test_the_pause_is_random_below_a_bound_that_doubles(attempt: int, bound_s: float) -> None:
    """Tasks that lost one server do not come back in step."""
    pauses = {pause_s(attempt) for _ in range(200)}

    assert 0 <= min(pauses)
    assert bound_s * 0.8 < max(pauses) <= bound_s
    assert len(pauses) > 100
