events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("checkpointLocation", "/c").outputMode("update").option("asyncProgressTrackingEnabled", "true").trigger(availableNow=True).start()  # expect: async-trigger
