SOURCE = {"subscribe": "e", "maxOffsetsPerTrigger": 1000}  # expect: option
events = spark.readStream.format("kafka").options(**SOURCE).load()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
