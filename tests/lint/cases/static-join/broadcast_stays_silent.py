from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
users = spark.createDataFrame([("a", 1)], "key string, level int")
events.join(F.broadcast(users), "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
events.join(users.hint("broadcast"), "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
F.broadcast(users).join(events, "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
