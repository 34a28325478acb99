events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update")

# Errors of the decoder go to the table of rejected rows.
writer.trigger(realTime=True).start()  # expect: trigger-duration

# Never lose a row, whatever fails
writer.trigger(realTime=True).start()  # expect: trigger-duration

# bad rows were dropped above
writer.trigger(realTime=True).start()  # expect: trigger-duration
