"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.outputMode("update").trigger(processingTime="1 second").start(format="delta")
