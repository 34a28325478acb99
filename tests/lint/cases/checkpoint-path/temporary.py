import os
import tempfile

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
events = spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")
writer = events.writeStream.format("kafka").option("topic", "out").outputMode("update").trigger(realTime="5 minutes")
writer.option("checkpointLocation", "/tmp/checkpoints/events").start()  # expect: checkpoint-path
writer.option("checkpointLocation", tempfile.mkdtemp()).start()  # expect: checkpoint-path
with tempfile.TemporaryDirectory() as folder:
    writer.option("checkpointLocation", f"{folder}/events").start()  # expect: checkpoint-path
writer.option("checkpointLocation", os.path.join("/tmp", "events")).start()  # expect: checkpoint-path
