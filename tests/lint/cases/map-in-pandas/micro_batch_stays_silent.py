events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.mapInPandas(clean, "value string").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
