def key(row):
    return row.key


events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.groupByKey(key).flatMapGroupsWithState(count)  # expect: legacy-state
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
