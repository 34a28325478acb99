events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.repartition(4, "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
