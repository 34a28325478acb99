"""
Move the job to real-time mode, compare both jobs, and move back, with payments in every step.

Each function is a step, which ends when a table equals all sent payments.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.migrate.seeds import Total, copy_state, table_rows, unconfirmed
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


class Payments:
    """A seeded generator of payments that stores their totals."""

    def __init__(self, places: Places, partitions: int, seed: int = 7) -> None:
        """Prepare to send payments to the topic `places.payments` with this number of partitions."""
        self.places, self.partitions, self.random = places, partitions, random.Random(seed)
        self.counts, self.cents = Counter[str](), Counter[str]()

    def send(self, count: int) -> None:
        """Send payments of random cards and wait for the broker. A card always has the same partition."""
        producer = Producer({"bootstrap.servers": self.places.bootstrap_servers, "linger.ms": 0})
        for _ in range(count):
            number, cents = self.random.randrange(CARDS), self.random.randrange(1, 10_000)
            card, value = f"card-{number:02}", f'{{"amount_cents": {cents}}}'
            producer.produce(self.places.payments, value, card, partition=number % self.partitions)
            self.counts[card] += 1
            self.cents[card] += cents
        if producer.flush(30):
            raise TimeoutError(f"the broker did not confirm all payments; check {self.places.bootstrap_servers!r}")

    @property
    def totals(self) -> list[Total]:
        """Return the totals of all sent payments, sorted by card."""
        return [(card, self.counts[card], self.cents[card]) for card in sorted(self.counts)]


@dataclass
class Migration:
    """What the steps share: the services, the places of the jobs, and the payments."""

    spark: SparkSession
    places: Places
    partitions: dict[str, int]
    """Partition counts of the topics `payments` and `seeds`."""
    interval: str
    say: Callable[[str], None]
    payments: Payments = field(init=False)

    def __post_init__(self) -> None:
        self.payments = Payments(self.places, self.partitions[self.places.payments])

    def expect(self, table: str, queries: Iterable[StreamingQuery]) -> None:
        """Wait until a table equals the sent payments. Raise TimeoutError if it does not."""

        def is_equal() -> bool:
            return table_rows(self.places.dsn, table) == self.payments.totals

        wait_until(is_equal, DEADLINE_SECONDS, f"table {table!r} to equal the payments sent", queries)

    def pay(self, table: str, *queries: StreamingQuery) -> None:
        """Send payments, and wait until they are in the table."""
        self.payments.send(PAYMENTS_PER_STEP)
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
    """Copy the old job's state to a new checkpoint while the old job runs, and return the starting offsets."""
    position = committed_position(m.places.checkpoints / "before")
    copy_state(m.spark, m.places, position)
    m.say(f"the state after batch {position.batch_id} is in topic {m.places.seeds}")
    offsets = position.starting_offsets(m.partitions)
    # In real-time mode, totals would be too low until all seeds have been read. One batch adds all seeds and payments.
    start_after(m.spark, m.places, offsets, {"availableNow": True}).awaitTermination()
    return offsets


def run_real_time_job(m: Migration, offsets: str, old: StreamingQuery) -> list[StreamingQuery]:
    """Start the new job beside the old one, compare both while payments arrive, and stop the old job."""
    slots = sum(m.partitions.values())
    new = start_after(m.spark, m.places, offsets, {"realTime": m.interval}, slots)
    queries = [new, start_consumer(m.spark, m.places, upsert_into(m.places.dsn, AFTER))]
    m.pay(BEFORE, old, *queries)

    def is_confirmed() -> bool:
        return not unconfirmed(m.places, table_rows(m.places.dsn, BEFORE))

    wait_until(is_confirmed, DEADLINE_SECONDS, "the real-time job to write each total of the old job", queries)
    m.expect(AFTER, queries)
    m.say("the real-time job has written each total of the micro-batch job, and its table is equal")
    stop_completely(m.spark, old)
    m.pay(AFTER, *queries)
    m.say("the real-time job runs alone")
    return queries


def move_back(m: Migration, offsets: str, queries: list[StreamingQuery]) -> None:
    """Continue the real-time checkpoint in micro-batches, then let the old job catch up on its own."""
    real_time, consumer = queries
    stop_completely(m.spark, real_time)
    back = start_after(m.spark, m.places, offsets, {"processingTime": "0 seconds"})
    m.pay(AFTER, back, consumer)
    m.say("the new job continues in micro-batch mode on the same checkpoint")
    stop_completely(m.spark, back, consumer)
    old = run_again(m)
    m.expect(BEFORE, [old])
    stop_completely(m.spark, old)
    m.say("the old job on its old checkpoint has caught up and stores the same totals")


def run_again(m: Migration) -> StreamingQuery:
    """Start the old job on its own checkpoint. Spark takes the state settings from the checkpoint."""
    return start_before(m.spark, m.places, upsert_into(m.places.dsn, BEFORE))
