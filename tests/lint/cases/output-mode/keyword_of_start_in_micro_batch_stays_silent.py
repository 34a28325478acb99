"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").trigger(processingTime="1 second").start(outputMode="append")
