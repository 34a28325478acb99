events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.coalesce(1).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
