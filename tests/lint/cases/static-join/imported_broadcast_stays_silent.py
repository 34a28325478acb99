from pyspark.sql.functions import broadcast as small

events = spark.readStream.format("kafka").option("subscribe", "events").load()
users = spark.createDataFrame([("a", 1)], "key string, level int")
events.join(small(users), "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
