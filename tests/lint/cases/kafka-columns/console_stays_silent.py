from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()
