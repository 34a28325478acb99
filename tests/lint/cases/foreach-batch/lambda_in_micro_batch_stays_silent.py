"""Works without real-time mode."""

events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.foreachBatch(lambda rows, number: rows.write.save("/out")).outputMode("update").trigger(processingTime="1 second").start()
