events = spark.readStream.format("kafka").option("subscribe", "events").load()
# Micro-batch: real-time mode would be faster
events.writeStream.format("console").trigger(processingTime="0 seconds").start()
events.writeStream.format("console").trigger(processingTime="0 seconds").start()  # not real-time mode
