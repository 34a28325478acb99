# engine: databricks
events = spark.readStream.format("kafka").option("subscribe", "e").option("maxPartitions", 8).load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
