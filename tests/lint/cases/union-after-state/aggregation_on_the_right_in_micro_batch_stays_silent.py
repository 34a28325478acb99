"""Works without real-time mode."""

from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
others = spark.readStream.format("kafka").option("subscribe", "others").load()
stream = events.select("key").union(others.groupBy("key").agg(F.count("*")))
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
