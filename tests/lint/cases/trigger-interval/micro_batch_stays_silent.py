events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update")
writer.trigger(processingTime="0 seconds").start()
writer.trigger(processingTime="100 ms").start()  # another query than a real-time one
