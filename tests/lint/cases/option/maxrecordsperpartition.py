events = spark.readStream.format("kafka").option("subscribe", "e").option("maxRecordsPerPartition", 10).load()  # expect: option
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
