events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("noop").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()  # expect: sink
