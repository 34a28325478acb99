events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.groupBy("key").count().writeStream.format("kafka").option("checkpointLocation", "/c").outputMode("update").option("asyncProgressTrackingEnabled", "false").trigger(realTime="5 minutes").start()
