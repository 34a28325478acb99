events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.withWatermark("at", "1 minute").dropDuplicatesWithinWatermark(["key"])  # expect: dedup-within-watermark
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
