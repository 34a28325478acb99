from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.withColumn("ms", F.unix_millis(F.current_timestamp()) - F.unix_millis("timestamp"))  # expect: frozen-clock
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
