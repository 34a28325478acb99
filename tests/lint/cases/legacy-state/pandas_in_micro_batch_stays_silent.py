"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.groupBy("key").applyInPandasWithState(count, "key string, n int", "n int", "update", "NoTimeout")
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
