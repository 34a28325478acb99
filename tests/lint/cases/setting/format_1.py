spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "1")  # expect: setting
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
