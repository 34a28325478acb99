"""
Decide which errors of PostgreSQL are worth another attempt, and how long to wait before it.

What arrives are errors of psycopg; what leaves is yes or no, and a pause in seconds.
Real-time tasks should outlive a fail-over, but a row that can never be stored must stop them at once.
"""

import random

import psycopg

TRANSIENT = ("08", "40", "53", "57P", "58", "55P03", "25006")
"""Lost connection, deadlock, no resources, server shutdown, system error, lock timeout, read-only standby."""
STATEMENT_TIMEOUT = "57014"
MOST_TIMEOUTS = 3
"""A statement that was too slow three times will be too slow again."""
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0
JITTER = random.SystemRandom()


def is_transient(error: psycopg.Error, *, is_connected: bool, timeouts: int) -> bool:
    """
    Tell whether the same batch may succeed later; `timeouts` counts its statement timeouts so far.

    A lost connection and a refused one carry no code, but neither does a client-side refusal such as too many
    parameters: only the state of the connection tells them apart.
    """
    code = error.sqlstate
    if code is None:
        return isinstance(error, psycopg.OperationalError) and not is_connected
    return code.startswith(TRANSIENT) or (code == STATEMENT_TIMEOUT and timeouts < MOST_TIMEOUTS)


def pause_s(attempt: int) -> float:
    """Return a random pause up to a bound that doubles with each attempt, so that tasks do not come back together."""
    return JITTER.uniform(0, min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(attempt, 16)))
