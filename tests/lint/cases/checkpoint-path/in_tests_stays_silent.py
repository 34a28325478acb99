import pytest
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()


def test_query():
    events = spark.readStream.format("kafka").option("subscribe", "events").load().select("value")
    events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/tmp/c").outputMode("update").trigger(realTime="5 minutes").start()
