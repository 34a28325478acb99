"""Works without real-time mode."""

MODE = "complete"
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode(MODE).trigger(processingTime="1 second").start()
