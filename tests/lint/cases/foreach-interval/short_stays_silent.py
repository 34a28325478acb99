events = spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")
events.writeStream.foreach(send).outputMode("update").trigger(realTime="10 seconds").start()
