events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").trigger(realTime="5 minutes").start(outputMode="append")  # expect: output-mode
