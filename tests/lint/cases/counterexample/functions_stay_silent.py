events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update")


def bad_trigger(writer):
    writer.trigger(realTime=True).start()


def explain(writer):
    """Wrong: passes a truth value."""
    writer.trigger(realTime=True).start()
