from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.withColumn("latency_seconds", F.unix_timestamp(F.current_timestamp()))  # expect: frozen-clock
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
