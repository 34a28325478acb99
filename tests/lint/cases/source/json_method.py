stream = spark.readStream.schema("a int").json("/in")  # expect: source
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
