spark.udf.register("clean", lambda value: value)
events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.selectExpr("clean(value) AS value")  # expect: python-udf
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
