def enrich(events, users):
    return events.join(users.hint("broadcast"), "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
