"""Works without real-time mode."""

stream = spark.readStream.format("rate-micro-batch").load("/in")
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
