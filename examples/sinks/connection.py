"""
Write each batch in its own transaction on one connection, and retry a failed batch until a deadline.

A real-time task keeps its connection for a whole epoch. If the server closes the connection, the task opens a new
connection and writes the batch again.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.types.numeric import Int8BinaryDumper

from examples.sinks.metrics import Metrics
from examples.sinks.retry import STATEMENT_TIMEOUT_SQLSTATE, is_transient, pause_seconds
from examples.sinks.watchdog import Watchdog

Connect = Mapping[str, Any] | Callable[[], Mapping[str, Any]]

READ_ONLY_SQLSTATE = "25006"
MAX_LOCK_WAIT_MS = 5_000


@dataclass
class BatchConnection:
    """The connection of one task. Only one thread at a time may call `write`; any thread may call `abandon`."""

    connect: Connect = field(repr=False)
    statement: bytes
    application_name: str
    retry_deadline_seconds: float
    flush_timeout_seconds: float
    metrics: Metrics

    def __post_init__(self) -> None:
        """Initialize without connecting, because Spark opens a sink for empty partitions too."""
        self._connection: psycopg.Connection | None = None
        # A duplicate of the connection's file descriptor. It stays valid when the client library closes the original.
        self._socket: socket.socket | None = None
        self._watchdog = Watchdog(self.flush_timeout_seconds)
        self._is_abandoned = threading.Event()

    def write(self, parameters: list[list[Any]]) -> int:
        """
        Write one batch, wait until the server has acknowledged the commit, and return the number of changed rows.

        An attempt whose reply was lost is also repeated. If the server committed that attempt, the table already
        contains its rows with the same versions, so the repetition changes nothing.
        """
        deadline = time.monotonic() + self.retry_deadline_seconds
        attempt = 0
        timeouts = 0
        while True:
            try:
                return self._attempt(parameters)
            except psycopg.Error as error:
                timeouts += error.sqlstate == STATEMENT_TIMEOUT_SQLSTATE
                is_connected = self._connection is not None and not self._connection.closed
                if not is_transient(error, is_connected=is_connected, timeouts=timeouts):
                    raise
                if time.monotonic() > deadline or self._is_abandoned.is_set():
                    raise
                if not is_connected or error.sqlstate == READ_ONLY_SQLSTATE:
                    self._disconnect()
            except BaseException:
                # After an interrupt, the statement may still be running on the server and block the connection.
                self._disconnect()
                raise
            self.metrics.retries += 1
            self._is_abandoned.wait(pause_seconds(attempt))
            attempt += 1

    def abandon(self) -> None:
        """Shut the connection down and stop the retries, so a running `write` fails soon."""
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
            # statement; if `abandon` is called later, the watchdog ends the statement.
            if self._is_abandoned.is_set():
                raise psycopg.OperationalError(f"sink {self.application_name!r} was closed before its flush finished")
            try:
                return connection.execute(self.statement, parameters).rowcount
            finally:
                self.metrics.watchdog_cuts = self._watchdog.cuts

    def _connected(self) -> tuple[psycopg.Connection, socket.socket]:
        if self._connection is None or self._socket is None:
            self._connection = psycopg.connect(**self._options())
            # By default, psycopg chooses the type of an integer parameter by its largest value. The server would then
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
        # The statement timeout of the server is shorter than the watchdog's timeout, so the watchdog handles only
        # replies that the network lost.
        statement_ms = max(1, int(self.flush_timeout_seconds * 1000 * 6 / 7))
        lock_ms = min(MAX_LOCK_WAIT_MS, statement_ms)
        return {
            "application_name": self.application_name,
            "connect_timeout": 5,
            "client_encoding": "utf8",
            "options": f"-c lock_timeout={lock_ms} -c statement_timeout={statement_ms} -c TimeZone=UTC",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": int(self.flush_timeout_seconds * 1000),
            **given,
            "autocommit": True,
        }

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._socket is not None:
            self._socket.close()
        self._connection = self._socket = None
