SINK = {"topic": "out", "kafka.linger.ms": "0"}
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").options(**SINK).outputMode("update").trigger(realTime="5 minutes").start()  # expect: checkpoint
