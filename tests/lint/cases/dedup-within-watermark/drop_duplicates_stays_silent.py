events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.withWatermark("at", "1 minute").dropDuplicates(["key", "at"]).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
