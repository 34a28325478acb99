"""Works without real-time mode."""

from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
clean = F.udf(lambda value: value, "string")
value = clean("value").alias("value")
events.select(value).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
