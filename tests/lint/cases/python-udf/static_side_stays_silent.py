from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
users = spark.createDataFrame([("a", 1)], "key string, level int")
clean = F.udf(lambda value: value)
users = users.withColumn("key", clean("key"))
events.join(F.broadcast(users), "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
