events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("checkpointLocation", "/c").outputMode("update").option("asyncProgressTrackingCheckpointIntervalMs", 1000).trigger(processingTime="1 second").start()  # not in real-time mode
