"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c")
writer = writer.trigger(processingTime="1 second")
query = writer.start()
