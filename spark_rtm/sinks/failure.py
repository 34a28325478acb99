"""
Describe why PostgreSQL refused a batch, without values of its rows.

PostgreSQL's messages quote values. The error of a task reaches Spark's logs, and values may be personal data.
"""

import struct

import psycopg

SQLSTATES_WITHOUT_VALUES = ("08", "21", "25", "28", "3D", "3F", "40", "42", "53", "54", "55", "57", "58")
"""
Classes whose messages name only connections, tables and settings. Other messages can quote values or come from users.
"""


def without_values(error: Exception) -> Exception:
    """Return `error` if its text contains no row values, else an error of the same type that states only the place."""
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
    """Return whether a single value was refused, so the other rows of the batch may be stored."""
    # An integer above 64 bits raises one of the last two, with or without the C part of psycopg.
    kinds = psycopg.DataError | psycopg.IntegrityError | UnicodeEncodeError | OverflowError | struct.error
    return isinstance(error, kinds)


def has_equal_keys(error: Exception) -> bool:
    """Return whether two keys of the batch differ in Python but are equal in PostgreSQL."""
    return isinstance(error, psycopg.errors.CardinalityViolation)
