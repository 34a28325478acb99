events = spark.readStream.format("kafka").option("subscribe", "e").option("minOffsetsPerTrigger", 8).load()  # expect: option
events.writeStream.format("kafka").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
