from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
users = spark.read.format("delta").load("/users")
events.join(F.broadcast(users), "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
