def read(topic):
    return spark.readStream.format("kafka").option("subscribe", topic).load()


stream = read("a")
for topic in ("b", "c"):
    stream = stream.union(read(topic))
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
