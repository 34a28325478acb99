"""Works without real-time mode."""

def key(row):
    return row.key


events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.groupByKey(key).flatMapGroupsWithState(count)
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
