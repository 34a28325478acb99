events = spark.readStream.format("kafka").option("subscribe", "events").load()
others = spark.readStream.format("kafka").option("subscribe", "others").load()
stream = events.withWatermark("at", "1 minute").join(others.withWatermark("at", "1 minute"), ["key", "at"], how="inner")  # expect: stream-join
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
