events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c")
writer = writer.trigger(realTime="5 minutes")
query = writer.start()  # expect: output-mode
