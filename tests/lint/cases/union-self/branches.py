events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.where("a > 1").unionByName(events.where("a < 1"))  # expect: union-self
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
