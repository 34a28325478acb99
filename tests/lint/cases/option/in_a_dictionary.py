SOURCE = {"subscribe": "e", "maxOffsetsPerTrigger": 1000}
events = spark.readStream.format("kafka").options(**SOURCE).load()  # expect: option
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
