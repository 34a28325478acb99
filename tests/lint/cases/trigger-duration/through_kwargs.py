def start(writer, **trigger):
    return writer.trigger(**trigger).start()


events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update")
start(writer, realTime=True)  # expect: trigger-duration
