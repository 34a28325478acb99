events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.select("value").writeStream.format("kafka").option("checkpointLocation", "/c").outputMode("update").option("asyncProgressTrackingEnabled", "true").trigger(realTime="5 minutes").start()
