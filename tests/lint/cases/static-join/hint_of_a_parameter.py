def enrich(events, users):
    return events.join(users.hint("merge"), "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()  # expect: static-join
