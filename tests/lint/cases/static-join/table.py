events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.alias("e").join(spark.table("users").where("level > 1"), "key")  # expect: static-join
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
