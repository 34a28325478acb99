events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("append").trigger(processingTime="1 second").start()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("complete").start()
