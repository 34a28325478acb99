events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.selectExpr("unix_millis(current_timestamp()) - unix_millis(timestamp) AS value")  # expect: frozen-clock
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
