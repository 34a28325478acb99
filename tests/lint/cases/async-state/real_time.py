events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.dropDuplicates(["key"]).writeStream.format("kafka").option("checkpointLocation", "/c").outputMode("update").option("asyncProgressTrackingEnabled", "true").trigger(realTime="5 minutes").start()  # expect: async-state
