events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.mapInArrow(clean, "value string")  # expect: map-in-pandas
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
