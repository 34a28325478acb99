"""
Write batches on one connection: connect late, commit each batch by itself, and try again until a deadline.

What arrives are parameters of the upsert statement; what leaves is the number of rows that it changed.
Real-time tasks hold a connection for one long epoch, and servers end connections: so it is replaced without loss.
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
from examples.sinks.retry import STATEMENT_TIMEOUT, is_transient, pause_s
from examples.sinks.watchdog import Watchdog

Connect = Mapping[str, Any] | Callable[[], Mapping[str, Any]]

READ_ONLY = "25006"
LONGEST_LOCK_WAIT_MS = 5_000


@dataclass
class Writer:
    """One connection of one task; `write` is for one thread at a time, `abandon` for any."""

    connect: Connect = field(repr=False)
    statement: bytes
    application_name: str
    retry_deadline_s: float
    flush_timeout_s: float
    metrics: Metrics

    def __post_init__(self) -> None:
        """Start without a connection: Spark opens a sink for empty partitions too."""
        self._connection: psycopg.Connection | None = None
        # The same TCP connection under a number that stays ours, whatever the client library closes.
        self._socket: socket.socket | None = None
        self._watchdog = Watchdog(self.flush_timeout_s)
        self._is_abandoned = threading.Event()

    def write(self, parameters: list[list[Any]]) -> int:
        """
        Return how many rows changed, once the server has acknowledged the commit.

        An attempt whose answer was lost is repeated as well: its rows meet themselves and are stale.
        """
        deadline, attempt, timeouts = time.monotonic() + self.retry_deadline_s, 0, 0
        while True:
            try:
                return self._attempt(parameters)
            except psycopg.Error as error:
                timeouts += error.sqlstate == STATEMENT_TIMEOUT
                is_connected = self._connection is not None and not self._connection.closed
                if not is_transient(error, is_connected=is_connected, timeouts=timeouts):
                    raise
                if time.monotonic() > deadline or self._is_abandoned.is_set():
                    raise
                if not is_connected or error.sqlstate == READ_ONLY:
                    self._disconnect()
            except BaseException:
                # After an interrupt the server may still be at work, and the connection takes no other statement.
                self._disconnect()
                raise
            self.metrics.retries += 1
            self._is_abandoned.wait(pause_s(attempt))
            attempt += 1

    def abandon(self) -> None:
        """Make a running `write` give up soon."""
        self._is_abandoned.set()
        self._watchdog.cut()

    def close(self) -> None:
        """Leave the server."""
        self._watchdog.stop()
        self._disconnect()

    def _attempt(self, parameters: list[list[Any]]) -> int:
        connection, connected = self._connected()
        with self._watchdog.watching(connected):
            # Asked while it is watched, so that `abandon` ends the statement or prevents it.
            if self._is_abandoned.is_set():
                raise psycopg.OperationalError(f"{self.application_name} was abandoned")
            try:
                return connection.execute(self.statement, parameters).rowcount
            finally:
                self.metrics.watchdog_cuts = self._watchdog.cuts

    def _connected(self) -> tuple[psycopg.Connection, socket.socket]:
        if self._connection is None or self._socket is None:
            self._connection = psycopg.connect(**self._options())
            # Else the type of a parameter follows its largest value, and the server prepares each combination anew.
            self._connection.adapters.register_dumper(int, Int8BinaryDumper)
            self._socket = socket.socket(fileno=os.dup(self._connection.fileno()))
            self.metrics.reconnects += self.metrics.flushes > 0 or self.metrics.retries > 0
        return self._connection, self._socket

    def _options(self) -> dict[str, Any]:
        try:
            # Asked at every connect, because a token may have expired since the last one.
            given = self.connect() if callable(self.connect) else self.connect
        except Exception as error:
            raise psycopg.OperationalError(f"the credentials for {self.application_name} did not come") from error
        # The server gives up first, so that the watchdog is left with what the network swallowed.
        statement_ms = max(1, int(self.flush_timeout_s * 1000 * 6 / 7))
        lock_ms = min(LONGEST_LOCK_WAIT_MS, statement_ms)
        return {
            "application_name": self.application_name,
            "connect_timeout": 5,
            "client_encoding": "utf8",
            "options": f"-c lock_timeout={lock_ms} -c statement_timeout={statement_ms} -c TimeZone=UTC",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": int(self.flush_timeout_s * 1000),
            **given,
            "autocommit": True,
        }

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._socket is not None:
            self._socket.close()
        self._connection = self._socket = None
