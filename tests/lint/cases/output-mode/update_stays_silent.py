events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").trigger(realTime="5 minutes").start(outputMode="update")
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("Update").trigger(realTime="5 minutes").start()
