events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
spark.readStream.format("delta").load("/in").writeStream.format("delta").trigger(availableNow=True).start("/out")
