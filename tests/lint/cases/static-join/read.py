events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.join(spark.read.parquet("/users"), "key", "left")  # expect: static-join
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
