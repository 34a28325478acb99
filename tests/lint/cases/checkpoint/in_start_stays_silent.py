events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("topic", "out").outputMode("update").trigger(realTime="5 minutes").start(checkpointLocation="/c")
