events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.repartitionByRange(4, "key")  # expect: sort-or-coalesce
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
