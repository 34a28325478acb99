"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("checkpointLocation", "/c").option("kafka.transactional.id", "t").outputMode("update").trigger(processingTime="1 second").start()
