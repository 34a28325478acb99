from pyspark.sql.streaming import DataStreamWriter, RealTimeTrigger  # expect: trigger-form

events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update")
writer.trigger(realTime="5 minutes").start()
