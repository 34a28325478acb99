"""
The steps that move the job to real-time mode, compare both jobs, and move back.

Each function is one step. After sending payments, a step waits until a table contains the totals of all payments sent.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable

from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.migrate.seeds import copy_state, table_rows, unconfirmed
from examples.migrate.totals import Places, start_after, start_before, start_consumer, upsert_into
from spark_rtm.realtime.positions import committed_position
from spark_rtm.realtime.queries import stop_completely, wait_until

BEFORE, AFTER = "totals_before", "totals_after"
PAYMENTS_PER_STEP = 200
DEADLINE_SECONDS = 120
STATE_SETTINGS = (
    "spark.sql.streaming.stateStore.checkpointFormatVersion",
    "spark.sql.streaming.stateStore.providerClass",
)
CARDS = 20


class Migration:
    """The data that the steps share: the Spark session, the places of the jobs, and the totals of all payments sent."""

    def __init__(
        self, spark: SparkSession, places: Places, partitions: dict[str, int], interval: str, say: Callable[[str], None]
    ) -> None:
        """`partitions` maps the topics `payments` and `seeds` to partition counts. `say` reports each step."""
        self.spark, self.places, self.partitions, self.interval, self.say = spark, places, partitions, interval, say
        self.random, self.counts, self.cents = random.Random(7), Counter[str](), Counter[str]()

    def send(self) -> None:
        """Send payments of random cards, and wait until the broker confirms them. Each card has a fixed partition."""
        producer = Producer({"bootstrap.servers": self.places.bootstrap_servers, "linger.ms": 0})
        partitions = self.partitions[self.places.payments]
        for _ in range(PAYMENTS_PER_STEP):
            number, cents = self.random.randrange(CARDS), self.random.randrange(1, 10_000)
            card, value = f"card-{number:02}", f'{{"amount_cents": {cents}}}'
            producer.produce(self.places.payments, value, card, partition=number % partitions)
            self.counts[card] += 1
            self.cents[card] += cents
        if producer.flush(30):
            raise TimeoutError(
                f"the broker at {self.places.bootstrap_servers!r} did not confirm all payments within 30 s; "
                f"check that the broker is running"
            )

    def expect(self, table: str, queries: Iterable[StreamingQuery]) -> None:
        """Wait until a table contains the totals of all payments sent. Raise TimeoutError after `DEADLINE_SECONDS`."""
        totals = [(card, self.counts[card], self.cents[card]) for card in sorted(self.counts)]

        def is_equal() -> bool:
            return table_rows(self.places.dsn, table) == totals

        wait_until(is_equal, DEADLINE_SECONDS, f"table {table!r} to contain the totals of all payments sent", queries)

    def pay(self, table: str, *queries: StreamingQuery) -> None:
        """Send payments, and wait until the totals in the table include them."""
        self.send()
        self.expect(table, queries)


def run_micro_batch_job(m: Migration) -> StreamingQuery:
    """Start the old job with Spark's default settings, as in production."""
    defaults = m.spark.newSession()
    for setting in STATE_SETTINGS:
        defaults.conf.unset(setting)
    old = start_before(defaults, m.places, upsert_into(m.places.dsn, BEFORE))
    m.pay(BEFORE, old)

    def is_committed() -> bool:
        (offsets,) = committed_position(m.places.checkpoints / "before").sources
        return sum(offsets[m.places.payments].values()) == PAYMENTS_PER_STEP

    # The rows of a batch are in the table before the batch is committed.
    wait_until(is_committed, DEADLINE_SECONDS, "the micro-batch job to commit", [old])
    m.say(f"the micro-batch job with default settings has stored {PAYMENTS_PER_STEP} payments")
    return old


def rebuild_state(m: Migration) -> str:
    """Copy the old job's state to a new checkpoint while the old job runs. Return the new job's starting offsets."""
    position = committed_position(m.places.checkpoints / "before")
    copy_state(m.spark, m.places, position)
    m.say(f"the state after batch {position.batch_id} is in topic {m.places.seeds}")
    offsets = position.starting_offsets(m.partitions)
    # In real-time mode, totals would be too low until all seeds have been read. One batch adds all seeds and payments.
    start_after(m.spark, m.places, offsets, {"availableNow": True}).awaitTermination()
    return offsets


def run_real_time_job(m: Migration, offsets: str, old: StreamingQuery) -> list[StreamingQuery]:
    """Start the new job beside the old one, compare their results while payments arrive, and stop the old job."""
    slots = sum(m.partitions.values())
    new = start_after(m.spark, m.places, offsets, {"realTime": m.interval}, slots)
    queries = [new, start_consumer(m.spark, m.places, upsert_into(m.places.dsn, AFTER))]
    m.pay(BEFORE, old, *queries)

    def is_confirmed() -> bool:
        return not unconfirmed(m.places, table_rows(m.places.dsn, BEFORE))

    wait_until(is_confirmed, DEADLINE_SECONDS, "the real-time job to write each total of the old job", queries)
    m.expect(AFTER, queries)
    m.say("the real-time job has written each total of the micro-batch job, and its table has the same totals")
    stop_completely(m.spark, old)
    m.pay(AFTER, *queries)
    m.say("the real-time job runs alone")
    return queries


def move_back(m: Migration, offsets: str, queries: list[StreamingQuery]) -> None:
    """Resume the new job in micro-batch mode on its checkpoint, then replace it with the old job, which catches up."""
    real_time, consumer = queries
    stop_completely(m.spark, real_time)
    back = start_after(m.spark, m.places, offsets, {"processingTime": "0 seconds"})
    m.pay(AFTER, back, consumer)
    m.say("the new job continues in micro-batch mode on the same checkpoint")
    stop_completely(m.spark, back, consumer)
    # Spark takes the state settings from the checkpoint.
    old = start_before(m.spark, m.places, upsert_into(m.places.dsn, BEFORE))
    m.expect(BEFORE, [old])
    stop_completely(m.spark, old)
    m.say("the old job on its old checkpoint has caught up and stores the same totals")
