"""Find when results flow again after a fault, from every source partition into the database."""

from itertools import islice

import psycopg

from examples.attribution.attributed_table import SCHEMA, results_table
from examples.attribution.audit.run_log import RunLog
from examples.attribution.settings import Settings
from examples.attribution.topics import SOURCE_TOPICS

MAX_NEWEST = 2_000
"""Number of newest results that are searched for records sent after a fault."""
CONNECT_SECONDS = 2


class ResultFlow:
    """Checks whether results of records sent after a given time are in Kafka and in the database."""

    def __init__(self, log: RunLog, dsn: str, settings: Settings) -> None:
        """Read from `log`, which another object fills, and from the results table."""
        self._log, self._dsn = log, dsn
        self._count = f"select count(distinct src) from {SCHEMA}.{results_table(settings)} where src = any(%s)".encode()
        self._partitions = len(SOURCE_TOPICS) * settings.partitions
        self._connection: psycopg.Connection | None = None
        self._since_ms = 0.0
        self._found: dict[str, str] = {}

    def flows_since(self, seconds: float) -> bool:
        """Return whether each source partition has a stored result for a record sent after `seconds` (epoch time)."""
        if seconds * 1000 != self._since_ms:
            self._since_ms, self._found = seconds * 1000, {}
        for src in islice(reversed(self._log.first_result_at), MAX_NEWEST):
            source = self._log.sources.get(src)
            if source and source.t0 > self._since_ms:
                self._found.setdefault(src.rpartition(":")[0], src)
        return len(self._found) == self._partitions and self._are_stored(list(self._found.values()))

    def close(self) -> None:
        """Close the connection to the database."""
        if self._connection:
            self._connection.close()

    def _are_stored(self, sources: list[str]) -> bool:
        try:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(self._dsn, autocommit=True, connect_timeout=CONNECT_SECONDS)
            stored = self._connection.execute(self._count, [sources]).fetchone()
        except psycopg.OperationalError:
            self.close()
            return False
        return stored is not None and stored[0] == len(sources)
