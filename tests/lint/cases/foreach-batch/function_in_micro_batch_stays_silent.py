"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()


def upsert(rows, number):
    rows.orderBy("key").write.format("jdbc").save()


query = (
    events.writeStream
    .foreachBatch(upsert)
    .outputMode("update")
    .option("checkpointLocation", "/c")
    .trigger(processingTime="1 second")
    .start()
)
