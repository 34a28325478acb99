"""
Mark large orders within milliseconds: orders -> orders-marked.

A record that is not an order goes to orders-rejected, with its raw bytes and, in a header, the reason.
"""

import os
import sys
from contextlib import suppress

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime import decoding
from spark_rtm.realtime.control import source_format
from spark_rtm.realtime.keeper import keep
from spark_rtm.realtime.limits import ID_PATTERN, MAX_NUMBER
from spark_rtm.realtime.login import login_of_environment
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import KAFKA_SINK
from spark_rtm.realtime.slots import preflight

SOURCE, TARGET, REJECTS = "orders", "orders-marked", "orders-rejected"
PARTITIONS = 2
"""Partitions of the topics that the job creates. The query needs a task slot for each partition of its source."""
ORDER = StructType().add("order_id", "string").add("amount_cents", "long")
"""An order, for example {"order_id": "A-1", "amount_cents": 2500}."""
LARGE_CENTS = 100_000


def marked(orders: DataFrame) -> DataFrame:
    """Convert Kafka source rows to Kafka sink rows. No expression raises an error, which would end the query."""
    order_id, amount = F.col("order.order_id"), F.col("order.amount_cents")
    reasons = {
        **decoding.reasons_of_form("order", ["order_id"]),  # not JSON, a wrong type, or above the length limit
        "bad_order_id": ~F.coalesce(order_id, F.lit("")).rlike(ID_PATTERN),
        "bad_amount": ~F.coalesce(amount, F.lit(-1)).between(0, MAX_NUMBER),
    }
    decoded = decoding.parse(orders, ORDER, "order").withColumn("reason", decoding.first_reason(reasons))
    result = F.struct(order_id, amount, (amount >= LARGE_CENTS).alias("is_large"))
    position = decoding.headers(src=F.col("src"))  # a consumer can drop repeated results by their source position
    return decoding.route(decoded, REJECTS, key=order_id, value=F.to_json(result), kept_headers=position, topic=TARGET)


def start(spark: SparkSession, servers: str, checkpoints: str) -> StreamingQuery:
    """Create missing topics, check the task slots, and start the query in real-time mode."""
    login, client = login_of_environment()  # KAFKA_USER and others; nothing without it
    partitions = ensure_topics(servers, [SOURCE, TARGET, REJECTS], PARTITIONS, login=client)
    kafka = {"kafka.bootstrap.servers": servers, **login}
    source = spark.readStream.format(source_format()).options(**kafka, subscribe=SOURCE, startingOffsets="earliest")
    rows = marked(source.load())
    preflight(spark, {TARGET: (rows, partitions[SOURCE])})
    writer = rows.writeStream.format("kafka").options(**kafka, **KAFKA_SINK)
    writer = writer.option("checkpointLocation", f"{checkpoints}/{TARGET}").queryName(TARGET).outputMode("update")
    query: StreamingQuery = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
    assert_real_time(query)
    print(f"{SOURCE} -> {TARGET}, {REJECTS}: runs in real-time mode; Ctrl-C stops it", flush=True)
    return query


def required(name: str, what: str) -> str:
    """Return an environment variable, or end the program with the remedy."""
    return os.environ.get(name) or sys.exit(f"{name} is not set, so the job cannot start; set it to {what}")


def main() -> None:
    """Keep the query running until Ctrl-C or SIGTERM. `keep` restarts it after a transient failure."""
    servers = required("KAFKA_BOOTSTRAP_SERVERS", "the address of your Kafka cluster")
    checkpoints = required("CHECKPOINTS", "a folder that all workers reach and that remains if a worker is lost")
    try:  # before Spark starts, which takes seconds
        ensure_topics(servers, [SOURCE, TARGET, REJECTS], PARTITIONS, login=login_of_environment()[1])
    except (RuntimeError, ValueError) as error:
        sys.exit(str(error))
    if "DATABRICKS_RUNTIME_VERSION" in os.environ:
        spark = SparkSession.builder.getOrCreate()  # the session of the cluster
    else:
        from spark_rtm.services.spark import build_session  # noqa: PLC0415 - its packages are not on Databricks

        spark = build_session("orders", master=os.environ.get("SPARK_MASTER", ""))  # by default, a local session
    keep(spark, {TARGET: lambda: start(spark, servers, checkpoints)})


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
