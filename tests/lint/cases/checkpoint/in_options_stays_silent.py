SINK = {"topic": "out", "checkpointLocation": "/c"}
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").options(**SINK).outputMode("update").trigger(realTime="5 minutes").start()
