events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.foreach(lambda row: None).outputMode("update").trigger(realTime="5 seconds").start()
events.writeStream.foreachBatch(lambda rows, number: None).trigger(processingTime="1 second").start()
