events = spark.readStream.format("kafka").option("subscribe", "events").load()


def upsert(rows, number):
    rows.orderBy("key").write.format("jdbc").save()


query = (
    events.writeStream
    .foreachBatch(upsert)  # expect: foreach-batch
    .outputMode("update")
    .option("checkpointLocation", "/c")
    .trigger(realTime="5 minutes")
    .start()
)
