"""Works without real-time mode."""

spark.udf.register("clean", lambda value: value)
events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.selectExpr("clean(value) AS value")
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
