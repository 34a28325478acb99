events = spark.readStream.format("kafka").option("subscribe", "e").option("maxOffsetsPerTrigger", 1000).load()  # expect: option
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
