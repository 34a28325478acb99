spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "1")
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
# real-time mode comes later
