events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update")
writer.trigger(realTime=None).start()  # expect: trigger-duration
