events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("checkpointLocation", "/c").option("kafka.transactional.id", "t").outputMode("update").trigger(realTime="5 minutes").start()  # expect: option
