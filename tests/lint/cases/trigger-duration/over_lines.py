events = spark.readStream.format("kafka").option("subscribe", "events").load()

query = (
    events.writeStream.format("console")
    .outputMode("update")
    .trigger(
        realTime=True,  # expect: trigger-duration
    )
    .start()
)
