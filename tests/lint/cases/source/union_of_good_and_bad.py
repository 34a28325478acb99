events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = spark.readStream.format("delta").load("/in")  # expect: source
events.select("value").union(stream.select("value")).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
