def both(stream):
    return stream.where("a").union(stream.where("b"))  # expect: union-self


events = spark.readStream.format("kafka").option("subscribe", "events").load()
both(events).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
