# engine: databricks
events = spark.readStream.format("kinesis").option("streamName", "events").load()
events.writeStream.format("kafka").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
