from pyspark.sql import SparkSession

spark = SparkSession.builder.config("spark.sql.execution.sortBeforeRepartition", True).getOrCreate()  # expect: setting
events = spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")
events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
