"""
Decide which PostgreSQL errors are worth a retry, and how long to wait before it.

A task should survive a failover, but a row that can never be stored must stop the task immediately.
"""

import random

import psycopg

TRANSIENT_SQLSTATES = ("08", "40", "53", "57P", "58", "55P03", "25006")
"""Lost connection, deadlock, no resources, server shutdown, system error, lock timeout, read-only standby."""
STATEMENT_TIMEOUT_SQLSTATE = "57014"
MAX_TIMEOUTS = 3
"""A statement that timed out three times is expected to time out again."""
FIRST_PAUSE_SECONDS = 0.05
MAX_PAUSE_SECONDS = 2.0
JITTER = random.SystemRandom()


def is_transient(error: psycopg.Error, *, is_connected: bool, timeouts: int) -> bool:
    """
    Return whether a retry of the same batch may succeed; `timeouts` counts its statement timeouts so far.

    Lost and refused connections have no SQLSTATE, and neither have errors that the client raises itself, such as too
    many parameters. Only the state of the connection distinguishes them.
    """
    code = error.sqlstate
    if code is None:
        return isinstance(error, psycopg.OperationalError) and not is_connected
    return code.startswith(TRANSIENT_SQLSTATES) or (code == STATEMENT_TIMEOUT_SQLSTATE and timeouts < MAX_TIMEOUTS)


def pause_seconds(attempt: int) -> float:
    """Return a random pause whose upper bound doubles with each attempt, so tasks do not reconnect all at once."""
    return JITTER.uniform(0, min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(attempt, 16)))
