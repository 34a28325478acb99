from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
sessions = events.groupBy(F.session_window("at", "5 minutes")).count()
sessions.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
