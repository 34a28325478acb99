"""
Move a stateful micro-batch job to real-time mode, compare the results of both jobs, and move back.

The program starts a Kafka broker, a PostgreSQL server and Spark, and sends payments in every step. The exit status is 1
if the totals in a table differ from the totals of the payments sent.
"""

import argparse
import random
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.migrate.seeds import copy_state, table_rows, unconfirmed
from examples.migrate.totals import Places, start_after, start_before, start_consumer, upsert_into
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.positions import committed_position
from spark_rtm.realtime.queries import stop_completely, wait_until
from spark_rtm.services import kafka_broker, postgres_server, run_folder
from spark_rtm.services.spark import build_session

PARTITIONS = 2
SLOTS = 16
"""Number of task slots. The real-time job needs 5, and the micro-batch jobs share the other slots."""
BEFORE, AFTER = "totals_before", "totals_after"
PAYMENTS_PER_STEP = 200
CARDS = 20
DEADLINE_SECONDS = 120
STATE_SETTINGS = (
    "spark.sql.streaming.stateStore.checkpointFormatVersion",
    "spark.sql.streaming.stateStore.providerClass",
)


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
    spark: SparkSession, bootstrap_servers: str, dsn: str, checkpoints: Path, interval: str = "5 seconds"
) -> None:
    """Run all steps, and print a line after each. The first micro-batch job has Spark's default settings."""
    run = uuid.uuid4().hex[:8]
    payments, seeds, totals = (f"{name}-{run}" for name in ("payments", "payments-seeds", "payments-totals"))
    ensure_topics(bootstrap_servers, [payments, totals], PARTITIONS)
    ensure_topics(bootstrap_servers, [seeds], 1)
    migration = Migration(spark, Places(bootstrap_servers, payments, seeds, totals, dsn, checkpoints), interval)
    old = migration.run_micro_batch_job()
    offsets = migration.rebuild_state()
    migration.move_back(offsets, *migration.run_real_time_job(offsets, old))


class Migration:
    """
    The steps that move the job to real-time mode, compare both jobs, and move back.

    After sending payments, a step waits until a table contains the totals of all payments sent.
    """

    def __init__(self, spark: SparkSession, places: Places, interval: str) -> None:
        self.spark, self.places, self.interval = spark, places, interval
        self.random, self.counts, self.cents = random.Random(7), Counter[str](), Counter[str]()

    def send(self) -> None:
        """Send payments of random cards, and wait until the broker confirms them. Each card has a fixed partition."""
        producer = Producer({"bootstrap.servers": self.places.bootstrap_servers, "linger.ms": 0})
        for _ in range(PAYMENTS_PER_STEP):
            number, cents = self.random.randrange(CARDS), self.random.randrange(1, 10_000)
            card, value = f"card-{number:02}", f'{{"amount_cents": {cents}}}'
            producer.produce(self.places.payments, value, card, partition=number % PARTITIONS)
            self.counts[card] += 1
            self.cents[card] += cents
        if producer.flush(30):
            raise TimeoutError(
                f"the broker at {self.places.bootstrap_servers!r} did not confirm all payments within 30 s; "
                f"check that the broker is running"
            )

    def expect(self, table: str, *queries: StreamingQuery) -> None:
        """Wait until a table contains the totals of all payments sent. Raise TimeoutError after `DEADLINE_SECONDS`."""
        totals = [(card, self.counts[card], self.cents[card]) for card in sorted(self.counts)]

        def is_equal() -> bool:
            return table_rows(self.places.dsn, table) == totals

        wait_until(is_equal, DEADLINE_SECONDS, f"table {table!r} to contain the totals of all payments sent", queries)

    def pay(self, table: str, *queries: StreamingQuery) -> None:
        """Send payments, and wait until the totals in the table include them."""
        self.send()
        self.expect(table, *queries)

    def run_micro_batch_job(self) -> StreamingQuery:
        """Start the old job with Spark's default settings, as in production."""
        defaults = self.spark.newSession()
        for setting in STATE_SETTINGS:
            defaults.conf.unset(setting)
        old = start_before(defaults, self.places, upsert_into(self.places.dsn, BEFORE))
        self.pay(BEFORE, old)

        def is_committed() -> bool:
            (offsets,) = committed_position(self.places.checkpoints / "before").sources
            return sum(offsets[self.places.payments].values()) == PAYMENTS_PER_STEP

        # The rows of a batch are in the table before the batch is committed.
        wait_until(is_committed, DEADLINE_SECONDS, "the micro-batch job to commit", [old])
        print(f"the micro-batch job with default settings has stored {PAYMENTS_PER_STEP} payments")
        return old

    def rebuild_state(self) -> str:
        """Copy the old job's state to a new checkpoint while the old job runs. Return the new job's first offsets."""
        position = committed_position(self.places.checkpoints / "before")
        copy_state(self.spark, self.places, position)
        print(f"the state after batch {position.batch_id} is in topic {self.places.seeds}")
        offsets = position.starting_offsets({self.places.payments: PARTITIONS, self.places.seeds: 1})
        # In real-time mode, totals would be too low until all seeds are read. One batch adds all seeds and payments.
        start_after(self.spark, self.places, offsets, {"availableNow": True}).awaitTermination()
        return offsets

    def run_real_time_job(self, offsets: str, old: StreamingQuery) -> tuple[StreamingQuery, StreamingQuery]:
        """Start the new job alongside the old one, compare results while payments arrive, and stop the old job."""
        new = start_after(self.spark, self.places, offsets, {"realTime": self.interval}, PARTITIONS + 1)
        queries = new, start_consumer(self.spark, self.places, upsert_into(self.places.dsn, AFTER))
        self.pay(BEFORE, old, *queries)

        def is_confirmed() -> bool:
            return not unconfirmed(self.places, table_rows(self.places.dsn, BEFORE))

        wait_until(is_confirmed, DEADLINE_SECONDS, "the real-time job to write each total of the old job", queries)
        self.expect(AFTER, *queries)
        print("the real-time job has written every total of the micro-batch job, and both tables have the same totals")
        stop_completely(self.spark, old)
        self.pay(AFTER, *queries)
        print("the real-time job runs alone")
        return queries

    def move_back(self, offsets: str, real_time: StreamingQuery, consumer: StreamingQuery) -> None:
        """Resume the new job in micro-batch mode on its checkpoint, then replace it with the old job."""
        stop_completely(self.spark, real_time)
        back = start_after(self.spark, self.places, offsets, {"processingTime": "0 seconds"})
        self.pay(AFTER, back, consumer)
        print("the new job continues in micro-batch mode on the same checkpoint")
        stop_completely(self.spark, back, consumer)
        # Spark takes the state settings from the checkpoint.
        old = start_before(self.spark, self.places, upsert_into(self.places.dsn, BEFORE))
        self.expect(BEFORE, old)
        stop_completely(self.spark, old)
        print("the old job on its old checkpoint has caught up and stores the same totals")


if __name__ == "__main__":
    sys.exit(main())
