"""Works without real-time mode."""

from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.select(F.udf(lambda value: value)("value").alias("value"))
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
