events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("checkpointLocation", "/c").outputMode("update").option("asyncProgressTrackingCheckpointIntervalMs", 0).trigger(realTime="5 minutes").start()
