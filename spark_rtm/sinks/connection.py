"""
Write each batch in its own transaction on one connection, and retry a failed batch until a deadline.

A real-time task keeps its connection for a whole epoch. If the server closes the connection, the task reconnects and
writes the batch again. A watchdog shuts the connection down if the server does not reply in time. Otherwise, one lost
packet could block a task forever, because neither `statement_timeout` nor TCP detects a server reply that the network
lost.

A task survives a failover, but fails immediately if the database can never store a row. PostgreSQL's messages quote row
values, which may be personal data, and Spark logs a task's errors, so the values are removed.
"""

import os
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8BinaryDumper

from spark_rtm.sinks.metrics import Metrics
from spark_rtm.sinks.statement import FIND_TRUNCATING_TYPES

Connect = Mapping[str, Any] | Callable[[], Mapping[str, Any]]

READ_ONLY_SQLSTATE = "25006"
MAX_LOCK_WAIT_MS = 5_000
CHECKS_PER_TIMEOUT = 8
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.05, 2.0
JITTER = random.SystemRandom()
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


@dataclass
class BatchConnection:
    """A sink task's database connection. Only one thread at a time may call `write`. Any thread may call `abandon`."""

    connect: Connect = field(repr=False)
    statement: bytes
    types_to_check: list[str]
    application_name: str
    retry_deadline_seconds: float
    flush_timeout_seconds: float
    metrics: Metrics

    def __post_init__(self) -> None:
        """Initialize without opening a connection, because Spark also opens sinks for empty partitions."""
        self._connection: psycopg.Connection | None = None
        # A duplicate of the file descriptor, which stays valid after the client library closes the original.
        self._socket: socket.socket | None = None
        self._watchdog = Watchdog(self.flush_timeout_seconds)
        self._is_abandoned = threading.Event()

    def write(self, parameters: list[list[Any]]) -> int:
        """
        Write one batch, wait for the server to acknowledge the commit, and return the number of changed rows.

        This method also retries an attempt whose reply was lost. If the server committed that attempt, the table
        already contains the rows with the same versions, so the retry changes nothing.
        """
        deadline = time.monotonic() + self.retry_deadline_seconds
        attempt = 0
        timeouts = refused_logins = 0
        while True:
            try:
                return self._attempt(parameters)
            except psycopg.Error as error:
                timeouts += error.sqlstate == STATEMENT_TIMEOUT_SQLSTATE
                refused_logins += is_refused_login(error)
                if not is_transient(error, timeouts=timeouts, refused_logins=refused_logins):
                    raise
                if time.monotonic() > deadline or self._is_abandoned.is_set():
                    raise
                is_closed = self._connection is None or self._connection.closed
                if is_closed or error.sqlstate in (None, READ_ONLY_SQLSTATE):
                    self._disconnect()
            except BaseException:
                # After an interrupt, the statement may still be running on the server and block the connection.
                self._disconnect()
                raise
            self.metrics.retries += 1
            self._is_abandoned.wait(_pause_seconds(attempt))
            attempt += 1

    def abandon(self) -> None:
        """Shut the connection down and stop retries, so that a running `write` fails soon."""
        self._is_abandoned.set()
        self._watchdog.cut()

    def close(self) -> None:
        """Close the connection."""
        self._watchdog.stop()
        self._disconnect()

    def _attempt(self, parameters: list[list[Any]]) -> int:
        connection, connected = self._connected()
        with self._watchdog.watching(connected):
            # The watchdog already watches the socket. If `abandon` was called before this check, the check prevents the
            # statement. If `abandon` is called later, the watchdog ends the statement.
            if self._is_abandoned.is_set():
                raise psycopg.OperationalError(f"sink {self.application_name!r} was closed before its flush finished")
            try:
                self._check_types(connection)
                return connection.execute(self.statement, parameters).rowcount
            finally:
                self.metrics.watchdog_cuts = self._watchdog.cuts

    def _check_types(self, connection: psycopg.Connection) -> None:
        if not self.types_to_check:
            return
        truncating = [name for (name,) in connection.execute(FIND_TRUNCATING_TYPES, [self.types_to_check])]
        if truncating:
            raise psycopg.ProgrammingError(
                f"columns of sink {self.application_name!r} have the types {truncating}, and a cast to these types "
                "can truncate values without an error; for a domain, pass the type on which the domain is based"
            )
        self.types_to_check = []

    def _connected(self) -> tuple[psycopg.Connection, socket.socket]:
        if self._connection is None or self._socket is None:
            self._connection = psycopg.connect(**self._options())
            # By default, psycopg chooses an integer array's type by its largest value. The server would then
            # prepare each combination of types separately.
            self._connection.adapters.register_dumper(int, Int8BinaryDumper)
            self._socket = socket.socket(fileno=os.dup(self._connection.fileno()))
            self.metrics.reconnects += self.metrics.flushes > 0 or self.metrics.retries > 0
        return self._connection, self._socket

    def _options(self) -> dict[str, Any]:
        try:
            # The function is called for each connection, because a token may have expired since the last call.
            given = self.connect() if callable(self.connect) else self.connect
        except Exception as error:
            raise psycopg.OperationalError(
                f"cannot connect sink {self.application_name!r}: its `connect` function failed"
            ) from error
        try:
            parameters = conninfo_to_dict(given.get("conninfo", "")) | {**given}
            parameters.pop("conninfo", None)
        except psycopg.ProgrammingError:
            # The original message quotes part of the connection string, which may be the password.
            raise psycopg.ProgrammingError(
                f"cannot connect sink {self.application_name!r}: its connection string is malformed; correct `connect`"
            ) from None
        return {
            "application_name": self.application_name,
            "connect_timeout": 5,
            "client_encoding": "utf8",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": int(self.flush_timeout_seconds * 1000),
            **parameters,
            "options": self._with_time_limits(parameters.get("options")),
            "autocommit": True,
        }

    def _with_time_limits(self, options: str | None) -> str:
        if options == "":
            # A connection pooler may reject all options. Set the time limits on the role instead.
            return options
        # The server's statement timeout is shorter than the watchdog's timeout, so the watchdog handles only replies
        # that the network lost.
        statement_ms = max(1, int(self.flush_timeout_seconds * 1000 * 6 / 7))
        lock_ms = min(MAX_LOCK_WAIT_MS, statement_ms)
        # The last value of a setting takes effect.
        limits = f"-c lock_timeout={lock_ms} -c statement_timeout={statement_ms}"
        return f"-c TimeZone=UTC {options or ''} {limits}"

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._socket is not None:
            self._socket.close()
        self._connection = self._socket = None


class Watchdog:
    """A thread that shuts a socket down when a flush takes longer than the timeout."""

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._watched: tuple[float, socket.socket] | None = None
        self._lock = threading.Lock()
        self._is_stopped = threading.Event()
        self.cuts = 0
        threading.Thread(target=self._run, name="postgres-watchdog", daemon=True).start()

    @contextmanager
    def watching(self, connected: socket.socket) -> Iterator[None]:
        """Shut down a connected socket if the block takes longer than the timeout."""
        with self._lock:
            self._watched = time.monotonic() + self._timeout_seconds, connected
        try:
            yield
        finally:
            with self._lock:
                self._watched = None

    def cut(self, *, only_late: bool = False) -> None:
        """Shut down the watched socket. If `only_late` is true, shut it down only after the timeout."""
        with self._lock:
            if self._watched is None or (only_late and time.monotonic() < self._watched[0]):
                return
            with suppress(OSError):  # the server has already closed it
                self._watched[1].shutdown(socket.SHUT_RDWR)
            self.cuts += only_late
            self._watched = None

    def stop(self) -> None:
        """End the thread."""
        self._is_stopped.set()

    def _run(self) -> None:
        while not self._is_stopped.wait(self._timeout_seconds / CHECKS_PER_TIMEOUT):
            self.cut(only_late=True)


def _pause_seconds(attempt: int) -> float:
    """Return a random pause, so that tasks reconnect at different times. The upper bound doubles with each attempt."""
    return JITTER.uniform(0, min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(attempt, 16)))


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
