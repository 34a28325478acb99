"""Works without real-time mode."""

from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
window = F.session_window("at", "5 minutes")
events.groupBy(window, "key").count().writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
