import os

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
events = spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")
writer = events.writeStream.format("kafka").option("topic", "out").outputMode("update").trigger(realTime="5 minutes")
writer.option("checkpointLocation", "s3a://bucket/checkpoints/events").start()
writer.option("checkpointLocation", "/Volumes/main/rtm/checkpoints/events").start()
writer.option("checkpointLocation", f"{os.environ['CHECKPOINTS']}/events").start()
writer.option("checkpointLocation", os.path.join(os.environ["CHECKPOINTS"], "events")).start()
