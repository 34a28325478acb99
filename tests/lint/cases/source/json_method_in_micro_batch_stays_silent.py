"""Works without real-time mode."""

stream = spark.readStream.schema("a int").json("/in")
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
