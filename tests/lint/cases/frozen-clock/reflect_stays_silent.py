from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.withColumn("latency_ms", F.expr("reflect('java.lang.System', 'currentTimeMillis')").cast("long") - F.unix_millis("timestamp")).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
