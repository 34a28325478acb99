events = spark.readStream.format("kafka").option("subscribe", "e").option("startingOffsets", "earliest").option("includeHeaders", "true").option("kafka.fetch.max.wait.ms", "50").load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
