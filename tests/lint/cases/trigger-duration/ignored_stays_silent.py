events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update")
writer.trigger(realTime=True).start()  # rtm: ignore[trigger-duration] shows the message
# rtm: ignore[trigger-duration] so does this
writer.trigger(realTime=300).start()
