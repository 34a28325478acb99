events = spark.readStream.format("kafka").option("subscribe", "events").load()
users = spark.createDataFrame([("a", 1)], "key string, level int")
events.join(users, "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
