"""Works without real-time mode."""

def both(stream):
    return stream.where("a").union(stream.where("b"))


events = spark.readStream.format("kafka").option("subscribe", "events").load()
both(events).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
