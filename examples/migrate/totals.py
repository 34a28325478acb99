"""
Sum up the payments of each card: first as a micro-batch job with `foreachBatch`, then in real-time mode.

Real-time mode does not support `foreachBatch`, so the real-time query writes to a topic. A second query reads the topic
in micro-batch mode and passes its rows to the unchanged function.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import KAFKA_SINK
from spark_rtm.realtime.slots import preflight

Upsert = Callable[[DataFrame, int], None]

PAYMENT = "amount_cents long"
TOTAL = "payments long, total_cents long"
"""The state of a card. `payments` increases with each payment, so it serves as the version of the total."""


@dataclass(frozen=True)
class Places:
    """Broker, topics, database and checkpoint folder of the jobs."""

    bootstrap_servers: str
    payments: str
    seeds: str
    """Topic with the state of the micro-batch job, one record per card."""
    totals: str
    """Result topic of the real-time job."""
    dsn: str
    checkpoints: Path


def totals_before(payments: DataFrame) -> DataFrame:
    """Return the number and the sum of the payments per card, as the micro-batch job computes them."""
    payment = F.from_json(F.col("value").cast("string"), PAYMENT)
    paid = payments.select(F.col("key").cast("string").alias("card"), payment.alias("payment"))
    return paid.groupBy("card").agg(F.count("*").alias("payments"), F.sum("payment.amount_cents").alias("total_cents"))


def totals_after(records: DataFrame, seeds: str) -> DataFrame:
    """Return the same totals, computed from payments and seeds. Each seed represents many payments of a card."""
    value, is_seed = F.col("value").cast("string"), F.col("topic") == seeds
    seed, payment = F.from_json(value, TOTAL), F.from_json(value, PAYMENT)
    paid = records.select(
        F.col("key").cast("string").alias("card"),
        F.when(is_seed, seed.payments).otherwise(1).alias("payments"),
        F.when(is_seed, seed.total_cents).otherwise(payment.amount_cents).alias("total_cents"),
    )
    return paid.groupBy("card").agg(*(F.sum(name).alias(name) for name in ("payments", "total_cents")))


def upsert_into(dsn: str, table: str) -> Upsert:
    """Create a table, and return a `foreachBatch` function that keeps the newest total of each card."""
    statement = (
        f"INSERT INTO {table} AS stored VALUES (%s, %s, %s) ON CONFLICT (card) DO UPDATE "
        "SET payments = excluded.payments, total_cents = excluded.total_cents "
        "WHERE excluded.payments > stored.payments"
    )
    with psycopg.connect(dsn) as connection:
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {table} (card text PRIMARY KEY, payments bigint, total_cents bigint)"
        )

    def upsert(totals: DataFrame, _batch_id: int) -> None:
        with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
            cursor.executemany(statement, [tuple(row) for row in totals.collect()])

    return upsert


def start_before(spark: SparkSession, places: Places, upsert: Upsert) -> StreamingQuery:
    """Start the micro-batch job, which reads the topic from the first record."""
    payments = _source(spark, places, places.payments, "earliest")
    writer = totals_before(payments).writeStream.foreachBatch(upsert).outputMode("update").queryName("totals_before")
    writer = writer.option("checkpointLocation", str(places.checkpoints / "before"))
    return writer.trigger(processingTime="0 seconds").start()


def start_after(
    spark: SparkSession, places: Places, starting_offsets: str, trigger: dict[str, object], slots: int = 0
) -> StreamingQuery:
    """
    Start the job that writes totals to a topic. `trigger` selects the mode. All modes use the same checkpoint.

    In real-time mode, check the task slots before the start, and the mode after the start. `slots` is the number of
    source partitions.
    """
    records = _source(spark, places, f"{places.payments},{places.seeds}", starting_offsets)
    totals = totals_after(records, places.seeds)
    rows = totals.select(F.col("card").alias("key"), F.to_json(F.struct("payments", "total_cents")).alias("value"))
    if "realTime" in trigger:
        preflight(spark, {"totals_after": (rows, slots)})
    writer = rows.writeStream.format("kafka").options(**KAFKA_SINK, topic=places.totals).outputMode("update")
    writer = writer.option("kafka.bootstrap.servers", places.bootstrap_servers).queryName("totals_after")
    writer = writer.option("checkpointLocation", str(places.checkpoints / "after"))
    query: StreamingQuery = writer.trigger(**trigger).start()  # type: ignore[call-overload]
    if "realTime" in trigger:
        assert_real_time(query)
    return query


def start_consumer(spark: SparkSession, places: Places, upsert: Upsert) -> StreamingQuery:
    """Start the micro-batch query that stores the topic's totals with the unchanged `foreachBatch` function."""
    total = F.from_json(F.col("value").cast("string"), TOTAL).alias("total")
    records = _source(spark, places, places.totals, "earliest").select(F.col("key").cast("string").alias("card"), total)
    totals = records.select("card", "total.*")
    writer = totals.writeStream.foreachBatch(upsert).outputMode("update").queryName("totals_to_table")
    writer = writer.option("checkpointLocation", str(places.checkpoints / "consumer"))
    return writer.trigger(processingTime="0 seconds").start()


def _source(spark: SparkSession, places: Places, topics: str, starting_offsets: str) -> DataFrame:
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", places.bootstrap_servers)
    return source.options(subscribe=topics, startingOffsets=starting_offsets).load()
