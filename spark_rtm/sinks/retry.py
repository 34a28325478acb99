"""
Decide which PostgreSQL errors to retry, and when.

A task should survive a failover, but must stop immediately for a row that the database can never store.
"""

import random

import psycopg

TRANSIENT_SQLSTATES = ("08", "40", "53", "57P", "58", "55P03", "25006")
"""Lost connection, deadlock, lack of resources, shutdown, system error, lock timeout and read-only standby."""
STATEMENT_TIMEOUT_SQLSTATE = "57014"
MAX_TIMEOUTS = 3
"""Number of timeouts after which a statement is not retried, because it would probably time out again."""
MAX_REFUSED_LOGINS = 2
"""Number of refused logins after which a login is not retried, because more can lock the account."""
LOGIN_REFUSED = "authentication failed for user"
"""Part of the server's message. The client library hides the SQLSTATE of a refused connection."""
FIRST_PAUSE_SECONDS = 0.05
MAX_PAUSE_SECONDS = 2.0
JITTER = random.SystemRandom()


def is_refused_login(error: psycopg.Error) -> bool:
    """Return whether the server rejected the password or token."""
    return error.sqlstate is None and LOGIN_REFUSED in str(error)


def is_transient(error: psycopg.Error, *, timeouts: int, refused_logins: int) -> bool:
    """
    Return whether a retry of the same batch may succeed after these numbers of timeouts and refused logins.

    An OperationalError without SQLSTATE means that the connection was lost or refused. The client library can raise it
    before it marks the connection as closed, so the state of the connection is not checked.
    """
    code = error.sqlstate
    if code is None:
        return isinstance(error, psycopg.OperationalError) and refused_logins < MAX_REFUSED_LOGINS
    return code.startswith(TRANSIENT_SQLSTATES) or (code == STATEMENT_TIMEOUT_SQLSTATE and timeouts < MAX_TIMEOUTS)


def pause_seconds(attempt: int) -> float:
    """Return a random pause, so tasks do not reconnect simultaneously. Its upper bound doubles with each attempt."""
    return JITTER.uniform(0, min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(attempt, 16)))
