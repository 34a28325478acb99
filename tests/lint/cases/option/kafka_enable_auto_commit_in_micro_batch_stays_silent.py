"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "e").option("kafka.enable.auto.commit", "true").load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
