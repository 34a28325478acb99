events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update")

# WRONG: a truth value is no duration
writer.trigger(realTime=True).start()

# Fails with VALUE_NOT_NON_EMPTY_STR:
writer.trigger(realTime=True).start()
writer.trigger(realTime=True).start()  # raises PySparkValueError
writer.trigger(realTime=True).start()  # Don't do this
writer.trigger(realTime=True).start()
# -> PySparkValueError
