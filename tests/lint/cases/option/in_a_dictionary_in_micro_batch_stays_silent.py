"""Works without real-time mode."""

SOURCE = {"subscribe": "e", "maxOffsetsPerTrigger": 1000}
events = spark.readStream.format("kafka").options(**SOURCE).load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
