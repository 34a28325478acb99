"""Run a query with a Spark UI: print the address in the middle of a batch, and again after its end."""

import sys

from confluent_kafka import Producer

from spark_rtm.kafka.consumer import read_topic
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.queries import KAFKA_SINK, wait_until
from spark_rtm.services import new_folder
from spark_rtm.services.spark import build_session

INTERVAL_SECONDS = 15


def main() -> None:
    """Count 100 records of a new topic in one batch."""
    servers, source, target = sys.argv[1:]
    spark = build_session("spark-ui", confs={"spark.ui.enabled": "true", "spark.ui.port": "0"})
    ensure_topics(servers, [source, target], 2)
    kafka = {"kafka.bootstrap.servers": servers}
    counts = spark.readStream.format("kafka").options(**kafka, subscribe=source).load().groupBy("key").count()
    writer = counts.selectExpr("key", "string(count) AS value").writeStream.format("kafka").outputMode("update")
    writer = writer.options(**kafka, **KAFKA_SINK, topic=target, checkpointLocation=str(new_folder("checkpoint")))
    query = writer.queryName("counts").trigger(realTime=f"{INTERVAL_SECONDS} seconds").start()  # type: ignore[call-overload]
    wait_until(lambda: len(query.recentProgress) > 0, 60, "the end of the first batch", [query])
    with Producer({"bootstrap.servers": servers}) as producer:
        for number in range(100):
            producer.produce(source, b"", f"k{number}")
    read_topic(servers, target, min_records=100)
    ended = len(query.recentProgress)
    print(spark.sparkContext.uiWebUrl, flush=True)
    sys.stdin.readline()
    wait_until(lambda: len(query.recentProgress) > ended, 60, "the end of the batch", [query])
    print(spark.sparkContext.uiWebUrl, flush=True)
    sys.stdin.readline()
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
