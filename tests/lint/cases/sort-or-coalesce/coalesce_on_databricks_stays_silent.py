# engine: databricks
events = spark.readStream.format("kafka").option("subscribe", "e").load()
rows = events.coalesce(1).repartitionByRange(2, "key")
rows.writeStream.format("kafka").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
