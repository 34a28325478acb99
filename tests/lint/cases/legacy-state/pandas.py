events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.groupBy("key").applyInPandasWithState(count, "key string, n int", "n int", "update", "NoTimeout")  # expect: legacy-state
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
