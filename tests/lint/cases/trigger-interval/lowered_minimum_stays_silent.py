spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")
events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update")
writer.trigger(realTime="1 second").start()
