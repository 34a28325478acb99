"""Send ten records through one real-time query from Kafka to Kafka, and print their latencies (`make quickstart`)."""

import sys
import uuid

from confluent_kafka import Message, Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.kafka.consumer import consumer_from_start
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import KAFKA_SINK, raise_if_failed
from spark_rtm.realtime.slots import preflight
from spark_rtm.services import kafka_broker, new_folder
from spark_rtm.services.spark import build_session


def shouts_of(clicks: DataFrame) -> DataFrame:
    """Convert Kafka source rows into Kafka sink rows with the same key and with the value in capital letters."""
    return clicks.select("key", F.upper(F.col("value").cast("string")).alias("value"))


def start(spark: SparkSession, servers: str, source: str, target: str, checkpoint: str) -> StreamingQuery:
    """Check the number of task slots, start the query, and verify in its plan that it runs in real-time mode."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    stream = shouts_of(reader.option("subscribe", source).option("startingOffsets", "earliest").load())
    preflight(spark, {"quickstart": (stream, ensure_topics(servers, [source, target], 1)[source])})
    writer = stream.writeStream.format("kafka").options(**KAFKA_SINK, topic=target, checkpointLocation=checkpoint)
    writer = writer.option("kafka.bootstrap.servers", servers).queryName("quickstart").outputMode("update")
    query: StreamingQuery = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
    assert_real_time(query)
    return query


def main() -> None:
    """Start Kafka and Spark, send ten records one after the other, and print each result and its latency."""
    print("starting a Kafka broker and Spark ...", flush=True)
    with kafka_broker() as servers:
        source, target = f"clicks-{uuid.uuid4()}", f"shouts-{uuid.uuid4()}"
        query = start(build_session("quickstart", slots=2), servers, source, target, str(new_folder("checkpoint")))
        print("the query runs in real-time mode; latency is the time from input append to output append in Kafka")
        client, sent = {"bootstrap.servers": servers, "linger.ms": 0}, list[Message]()
        with Producer(client) as producer, consumer_from_start(servers, {target: 1}) as consumer:
            for number in range(1, 11):
                producer.produce(source, f"click {number}", on_delivery=lambda _, message: sent.append(message))
                producer.flush()
                while (result := consumer.poll(0.1)) is None:
                    raise_if_failed([query])
                value, latency_ms = (result.value() or b"").decode(), result.timestamp()[1] - sent[-1].timestamp()[1]
                print(f"click {number:<2} -> {value:<9} {latency_ms:>6,} ms", flush=True)
        print("the first record is slow because the JVM is cold; run `make demo` to measure a warm pipeline")
        query.stop()


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, RuntimeError) as error:
        sys.exit(str(error) or "interrupted")
