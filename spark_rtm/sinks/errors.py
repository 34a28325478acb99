"""
Decide which PostgreSQL errors to retry, and describe errors without row values.

A task should survive a failover, but must fail immediately if the database can never store a row. PostgreSQL's messages
quote row values, which may be personal data, and Spark logs a task's errors.
"""

import struct

import psycopg

TRANSIENT_SQLSTATES = ("08", "40", "53", "57P", "58", "55P03", "25006")
"""Connection loss, deadlock, lack of resources, shutdown, system error, lock timeout and read-only standby."""
STATEMENT_TIMEOUT_SQLSTATE = "57014"
MAX_TIMEOUTS = 3
"""Number of timeouts after which the sink does not retry a statement that would probably time out again."""
MAX_REFUSED_LOGINS = 2
"""Number of rejected logins after which the sink stops retrying, because more attempts can lock the account."""
LOGIN_REFUSED = "authentication failed for user"
"""Part of the server's message for a rejected login. The client library hides a refused connection's SQLSTATE."""
SQLSTATES_WITHOUT_VALUES = ("08", "21", "25", "28", "3D", "3F", "40", "42", "53", "54", "55", "57", "58")
""" SQLSTATE classes whose messages mention only connections, tables and settings. Other messages can quote values or
user input.
"""


def is_refused_login(error: psycopg.Error) -> bool:
    """Return whether the server rejected the password or token."""
    return error.sqlstate is None and LOGIN_REFUSED in str(error)


def is_transient(error: psycopg.Error, *, timeouts: int, refused_logins: int) -> bool:
    """
    Return whether a retry of the batch may succeed, given the previous numbers of timeouts and rejected logins.

    An OperationalError without SQLSTATE means that the connection was lost or refused. The client library can raise
    such an error before it marks the connection as closed, so this function ignores the connection's state.
    """
    code = error.sqlstate
    if code is None:
        return isinstance(error, psycopg.OperationalError) and refused_logins < MAX_REFUSED_LOGINS
    return code.startswith(TRANSIENT_SQLSTATES) or (code == STATEMENT_TIMEOUT_SQLSTATE and timeouts < MAX_TIMEOUTS)


def without_values(error: Exception) -> Exception:
    """Return an error of the same type whose message contains no row values."""
    if not isinstance(error, psycopg.Error) or error.sqlstate is None:
        return error
    diag = error.diag
    place = {
        "table": diag.table_name,
        "column": diag.column_name,
        "constraint": diag.constraint_name,
        "type": diag.datatype_name,
    }
    parts = [f"{name} {value!r}" for name, value in place.items() if value]
    if error.sqlstate.startswith(SQLSTATES_WITHOUT_VALUES) and diag.message_primary:
        parts.append(diag.message_primary)
    copy = type(error)(", ".join([f"{type(error).__name__}, SQLSTATE {error.sqlstate}", *parts]))
    copy.sqlstate = error.sqlstate
    return copy


def is_caused_by_a_row(error: Exception) -> bool:
    """Return whether the server rejected a single value, so that it might accept the other rows of the batch."""
    # An integer above 64 bits raises one of the last two errors, depending on psycopg's implementation (C or Python).
    kinds = psycopg.DataError | psycopg.IntegrityError | UnicodeEncodeError | OverflowError | struct.error
    return isinstance(error, kinds)
