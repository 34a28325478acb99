"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()
others = spark.readStream.format("kafka").option("subscribe", "others").load()
stream = events.join(others, "key")
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
