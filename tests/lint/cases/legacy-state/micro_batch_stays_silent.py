events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.groupBy("key").applyInPandasWithState(count, "key string", "n int", "append", "NoTimeout").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
