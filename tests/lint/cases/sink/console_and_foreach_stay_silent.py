events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.outputMode("update").trigger(realTime="5 minutes")
writer.format("console").start()
events.writeStream.foreach(send).outputMode("update").trigger(realTime="5 seconds").start()
