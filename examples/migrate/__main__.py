"""
Move a stateful micro-batch job to real-time mode, compare the results of both jobs, and move back.

The program starts a Kafka broker, a PostgreSQL server and Spark, and sends payments in every step. The exit status is 1
if the totals in a table differ from the totals of the payments sent.
"""

import argparse
import sys
import tempfile
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from examples.migrate.steps import Migration, move_back, rebuild_state, run_micro_batch_job, run_real_time_job
from examples.migrate.totals import Places
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.services import kafka_broker, postgres_server, run_folder
from spark_rtm.services.spark import build_session

PARTITIONS = 2
SLOTS = 16
"""Number of task slots. The real-time job needs 5, and the micro-batch jobs share the other slots."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the servers and run all steps. If a step fails, print one line to stderr and return 1."""
    argparse.ArgumentParser(
        prog="python -m examples.migrate",
        description=__doc__,
        epilog="example: python -m examples.migrate",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args(arguments)
    print("starting a Kafka broker, a PostgreSQL server and Spark ...", flush=True)
    try:
        with (
            kafka_broker() as servers,
            postgres_server() as dsn,
            tempfile.TemporaryDirectory(dir=run_folder()) as folder,
        ):
            migrate(build_session("migrate", slots=SLOTS), servers, dsn, Path(folder))
    except (RuntimeError, ValueError, TimeoutError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def migrate(
    spark: SparkSession,
    bootstrap_servers: str,
    dsn: str,
    checkpoints: Path,
    interval: str = "5 seconds",
    say: Callable[[str], None] = print,
) -> None:
    """Run all steps. The first micro-batch job has Spark's default settings."""
    run = uuid.uuid4().hex[:8]
    payments, seeds, totals = (f"{name}-{run}" for name in ("payments", "payments-seeds", "payments-totals"))
    ensure_topics(bootstrap_servers, [totals], PARTITIONS)
    partitions = ensure_topics(bootstrap_servers, [payments], PARTITIONS) | ensure_topics(bootstrap_servers, [seeds], 1)
    places = Places(bootstrap_servers, payments, seeds, totals, dsn, checkpoints)
    migration = Migration(spark, places, partitions, interval, say)
    old = run_micro_batch_job(migration)
    offsets = rebuild_state(migration)
    queries = run_real_time_job(migration, offsets, old)
    move_back(migration, offsets, queries)


if __name__ == "__main__":
    sys.exit(main())
