events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.outputMode("update").trigger(realTime="5 minutes").toTable("silver.events")  # expect: sink
