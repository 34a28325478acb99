"""Copy a result topic into a table until Ctrl-C, and print each batch."""

import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from examples.attribution.lake.results_to_table import Written, start, table_of
from spark_rtm.command_line import arguments_of
from spark_rtm.realtime.queries import QueryFailedError, raise_if_failed, stop_completely, stop_on_interrupt
from spark_rtm.services.kafka import NO_SERVERS
from spark_rtm.services.spark import build_session


@dataclass(frozen=True)
class Options:
    """The source, the destination and the schedule of the copy."""

    topic: str = "ad-attributed"
    """Topic that contains the results."""
    format: Literal["parquet", "delta"] = "parquet"
    """Format of the table. For `delta`, install the `deltalake` package."""
    folder: Path = Path("table")
    """Folder in which to store the table."""
    checkpoint: Path = Path("checkpoints/table")
    """Folder in which to store the checkpoint."""
    interval_seconds: int = 10
    """Seconds between two batches."""
    slots: int = 2
    """Number of task slots."""


def main() -> int:
    """Return 0 after Ctrl-C, and 1 if the query fails."""
    options = arguments_of(
        Options,
        program="python -m examples.attribution.lake",
        description="Copy a result topic into a Parquet or Delta table with the newest version of each result.",
        example="KAFKA_BOOTSTRAP_SERVERS=127.0.0.1:9092 python -m examples.attribution.lake --format delta",
    )
    servers = os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "")
    if not servers:
        print(NO_SERVERS, file=sys.stderr)
        return 2
    stop = threading.Event()
    spark = build_session("lake", slots=options.slots)
    stop_on_interrupt(stop)
    table = table_of(options.format, options.folder)
    query = start(spark, servers, options.topic, table, options.checkpoint, options.interval_seconds, show)
    print(f"{options.topic} -> {options.folder} ({options.format}); press Ctrl-C to stop", flush=True)
    try:
        while not stop.wait(0.2):
            raise_if_failed([query])
    except QueryFailedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        stop_completely(spark, query)
        spark.stop()
    return 0


def show(written: Written) -> None:
    """Print one line for a batch that the query has written."""
    ages = f"age of the rows p50 {written.p50_ms:,} ms, p99 {written.p99_ms:,} ms"
    print(f"batch {written.batch_id}: {written.rows:,} rows in {written.seconds:.1f} s; {ages}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
