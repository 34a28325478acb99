from pyspark.sql import SparkSession

spark = SparkSession.builder.config("spark.sql.streaming.checkpointLocation", "checkpoints").getOrCreate()  # expect: checkpoint-path
events = spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")
events.writeStream.format("kafka").option("topic", "out").outputMode("update").trigger(realTime="5 minutes").start()
