events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.union(events).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
