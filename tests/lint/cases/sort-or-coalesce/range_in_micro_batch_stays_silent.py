"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.repartitionByRange(4, "key")
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
