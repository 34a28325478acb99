# engine: oss-4.3
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("postgresql").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()  # expect: sink
