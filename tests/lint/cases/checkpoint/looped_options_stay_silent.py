events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").outputMode("update")
for key, value in {"topic": "out", "checkpointLocation": "/c"}.items():
    writer = writer.option(key, value)
writer.trigger(realTime="5 minutes").start()
