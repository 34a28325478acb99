events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.withWatermark("at", "1 minute").dropDuplicatesWithinWatermark(["key"]).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
