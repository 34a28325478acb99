"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.where("a > 1").unionByName(events.where("a < 1"))
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
