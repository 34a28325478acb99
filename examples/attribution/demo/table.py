"""Copy the results of the demonstration into a table, and compare the table with PostgreSQL at the end."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from pyspark.sql import SparkSession

from examples.attribution.demo.live_view import LiveView
from examples.attribution.lake.results_to_table import Written, start, table_of
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC
from spark_rtm.realtime.queries import raise_if_failed, stop_completely, wait_until
from spark_rtm.services import new_folder

INTERVAL_SECONDS, END_SECONDS = 5, 60
SLOTS = 1

Stored = Mapping[str, Mapping[str, Any]]


@contextmanager
def copied_to_table(
    kind: str, settings: Settings, spark: SparkSession, bootstrap_servers: str, view: LiveView
) -> Iterator[Callable[[Stored], list[str]]]:
    """
    Copy results until the block ends, if `kind` is not empty.

    Yield a function that compares the table with the rows of PostgreSQL.
    """
    if not kind:
        yield lambda _stored: []
        return
    folder = new_folder("table")
    table, written = table_of(kind, folder / kind), list[Written]()
    topic, checkpoint = settings.topic(ATTRIBUTED_TOPIC), folder / "checkpoint"
    query = start(spark, bootstrap_servers, topic, table, checkpoint, INTERVAL_SECONDS, written.append)

    def differences(stored: Stored) -> list[str]:
        expected, found = {(name, row["version"]) for name, row in stored.items()}, set[tuple[str, int]]()

        def is_equal() -> bool:
            found.clear()
            found.update((row.id, row.version) for row in table.read(spark).collect())
            return found == expected

        raise_if_failed([query])
        with suppress(TimeoutError):
            wait_until(is_equal, END_SECONDS, "the last batch of the table", [query])
        table.compact()
        p50, p99 = (sorted(getattr(batch, name) for batch in written) for name in ("p50_ms", "p99_ms"))
        ages = f"age of rows per batch: median p50 {p50[len(p50) // 2]:,} ms, highest p99 {p99[-1]:,} ms" if p50 else ""
        view.print_line(f"table: {len(found):,} results in {kind} format, {len(written)} batches; {ages}")
        return [f"table: result {name} has version {version}" for name, version in sorted(found ^ expected)]

    try:
        yield differences
    finally:
        stop_completely(spark, query)
