from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.withColumn("value", F.coalesce("value", F.lit(""))).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
spark.read.parquet("/out").orderBy("at").coalesce(1).write.csv("/report")
