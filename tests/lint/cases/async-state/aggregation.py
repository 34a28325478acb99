events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.groupBy("key").count().writeStream.format("kafka").option("checkpointLocation", "/c").outputMode("update").option("asyncProgressTrackingEnabled", "true").trigger(processingTime="1 second").start()  # expect: async-state
