events = spark.readStream.format("kafka").option("subscribe", "events").load()
# Real-time mode
events.writeStream.format("console").trigger(processingTime="0 seconds").start()  # expect: claim-micro-batch

events.writeStream.format("console").trigger(processingTime="0 seconds").start()  # real-time mode: expect: claim-micro-batch
