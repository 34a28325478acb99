stream = spark.readStream.format("parquet").load("/in")  # expect: source
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
