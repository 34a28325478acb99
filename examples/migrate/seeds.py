"""Copy the state of the micro-batch job to a topic, and compare the results of both jobs."""

import json

import psycopg
from pyspark.sql import SparkSession

from examples.migrate.totals import Places
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.realtime.positions import NO_BATCH, Position

Total = tuple[str, int, int]
"""A card, the number of its payments, and the sum of these payments in cents."""


def copy_state(spark: SparkSession, places: Places, position: Position) -> None:
    """Write the state as of the batch in `position` to the empty topic `seeds`, with one record per card."""
    if position.batch_id == NO_BATCH:
        return  # Without a committed batch, there is no state yet.
    _require_empty(spark, places.bootstrap_servers, places.seeds)
    # With format 2, the setting of real-time mode, a session cannot read state that has format 1.
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "1")
    reader = session.read.format("statestore").option("batchId", position.batch_id)
    state = reader.load(str(places.checkpoints / "before"))
    # The columns of the state are named after the aggregate functions.
    total = "to_json(struct(value.count AS payments, value.sum AS total_cents)) AS value"
    writer = state.selectExpr("key.card AS key", total).write.format("kafka").option("topic", places.seeds)
    writer.option("kafka.bootstrap.servers", places.bootstrap_servers).save()


def _require_empty(spark: SparkSession, bootstrap_servers: str, topic: str) -> None:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap_servers)
    if not reader.option("subscribe", topic).load().isEmpty():
        raise ValueError(
            f"topic {topic!r} already contains records, so the new job would count them twice; "
            f"create another topic, and use a new checkpoint"
        )


def table_rows(dsn: str, table: str) -> list[Total]:
    """Return all rows of a table of totals, sorted by card."""
    with psycopg.connect(dsn) as connection:
        return [(card, count, cents) for card, count, cents in connection.execute(f"SELECT * FROM {table} ORDER BY 1")]


def unconfirmed(places: Places, before: list[Total]) -> list[Total]:
    """
    Return the totals of the micro-batch job that the real-time job has not written.

    The real-time job writes a total after each payment, so it also writes each total that the micro-batch job computes
    after the state was copied. A total that is still missing after a minute therefore means that the results differ.

    This comparison does not use Spark, because a batch job that takes the task slots of a real-time query at a batch
    boundary makes the query fail with CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT.
    """
    written = set[Total]()
    for record in read_topic(places.bootstrap_servers, places.totals):
        total = json.loads(record.value() or b"")
        written.add(((record.key() or b"").decode(), total["payments"], total["total_cents"]))
    return [total for total in before if total not in written]
