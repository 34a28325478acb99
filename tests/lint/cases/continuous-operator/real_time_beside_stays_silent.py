events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.groupBy("key").count().selectExpr("key AS value").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
events.writeStream.format("console").trigger(continuous="1 second").start()
