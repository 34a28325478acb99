# engine: oss-4.3
events = spark.readStream.format("kinesis").option("streamName", "events").load()  # expect: source
events.writeStream.format("kafka").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
