"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()
users = spark.createDataFrame([("a", 1)], "key string, level int")
stream = events.join(users, "key")
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
