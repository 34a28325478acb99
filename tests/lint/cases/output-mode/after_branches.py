events = spark.readStream.format("kafka").option("subscribe", "events").load()

writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("append")  # expect: output-mode
if fast:
    writer = writer.trigger(realTime="5 minutes")
else:
    writer = writer.trigger(processingTime="1 second")
writer.start()
