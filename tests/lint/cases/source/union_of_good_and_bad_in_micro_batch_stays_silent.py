"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = spark.readStream.format("delta").load("/in")
events.select("value").union(stream.select("value")).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
