"""Send ten records through one query, in real-time mode and in micro-batch mode, and print the latency of each."""

import statistics
import sys
import uuid
from typing import Any

from confluent_kafka import Message, Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.kafka.consumer import consumer_from_start
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import KAFKA_SINK, raise_if_failed, stop_completely
from spark_rtm.realtime.slots import preflight
from spark_rtm.services import kafka_broker, new_folder
from spark_rtm.services.java import filter_stderr
from spark_rtm.services.spark import build_session


def shouts_of(clicks: DataFrame) -> DataFrame:
    """Convert Kafka source rows into Kafka sink rows with the same key and an upper-case value."""
    return clicks.select("key", F.upper(F.col("value").cast("string")).alias("value"))


def start(spark: SparkSession, servers: str, source: str, target: str, trigger: dict[str, Any]) -> StreamingQuery:
    """Start the query. In real-time mode, check the task slots before the start, and the plan after the start."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    stream = shouts_of(reader.option("subscribe", source).option("startingOffsets", "earliest").load())
    writer = stream.writeStream.format("kafka").options(**KAFKA_SINK, topic=target).outputMode("update")
    writer = writer.option("checkpointLocation", str(new_folder("checkpoint"))).queryName(target)
    partitions = ensure_topics(servers, [source, target], 1)
    if "realTime" in trigger:
        preflight(spark, {target: (stream, partitions[source])})
    query: StreamingQuery = writer.option("kafka.bootstrap.servers", servers).trigger(**trigger).start()
    if "realTime" in trigger:
        assert_real_time(query)
    return query


def main() -> None:
    """Start Kafka and Spark, send ten records one by one, and print each latency in both modes."""
    print("Ten records go through one query in real-time mode, and through the same query in micro-batch mode.")
    print("Starting a Kafka broker and Spark, which takes about 15 s ...", flush=True)
    with filter_stderr(), kafka_broker() as servers:
        source, fast, slow = (f"{name}-{uuid.uuid4()}" for name in ("clicks", "real-time", "micro-batch"))
        spark = build_session("quickstart", slots=3)
        print("Starting both queries, which takes about 10 s ...", flush=True)
        queries = [start(spark, servers, source, fast, {"realTime": "5 minutes"})]
        queries += [start(spark, servers, source, slow, {"processingTime": "0 seconds"})]
        print(f"\n{'record':<8} -> {'result':<8} {'real-time':>12} {'micro-batch':>14}")
        client, sent, latencies = {"bootstrap.servers": servers, "linger.ms": 0}, list[Message](), []
        with Producer(client) as producer, consumer_from_start(servers, {fast: 1, slow: 1}) as consumer:
            for number in range(1, 11):
                latencies_ms = dict[str, int]()
                producer.produce(source, f"click {number}", on_delivery=lambda _, message: sent.append(message))
                producer.flush()
                while len(latencies_ms) < len(queries):
                    raise_if_failed(queries)
                    if result := consumer.poll(0.1):
                        latencies_ms[result.topic() or ""] = result.timestamp()[1] - sent[-1].timestamp()[1]
                        value = (result.value() or b"").decode()
                latencies.append(latencies_ms)
                shown = f"{latencies_ms[fast]:>9,} ms {latencies_ms[slow]:>11,} ms"
                print(f"click {number:<2} -> {value:<8} {shown}{'   (cold JVM)' if number == 1 else ''}", flush=True)
        medians = [statistics.median(each[name] for each in latencies[1:]) for name in (fast, slow)]
        print(f"{'median of the last nine':<20} {medians[0]:>6,.0f} ms {medians[1]:>11,.0f} ms")
        stop_completely(spark, *queries)
        spark.stop()
        print("\nLatency is the time from when Kafka appends a record until Kafka appends the result.")
        print("Next: `make demo COMPARE=1` measures a warm pipeline.")
        print("`bin/rtm prove job.py:function` tests your own query.")


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, RuntimeError) as error:
        sys.exit(str(error) or "interrupted")
