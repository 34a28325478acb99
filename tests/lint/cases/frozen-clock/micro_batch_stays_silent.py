from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.withColumn("latency", F.current_timestamp() - F.col("timestamp")).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
