events = spark.readStream.format("kafka").option("subscribe", "events").load()
users = spark.createDataFrame([("a", 1)], "key string, level int")
stream = events.join(users.hint("shuffle_hash"), "key")  # expect: static-join
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
