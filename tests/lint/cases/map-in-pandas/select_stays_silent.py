events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.selectExpr("upper(value) AS value").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
