from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[8]").config("spark.sql.shuffle.partitions", "8").getOrCreate()  # expect: shuffle-partitions
events = spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")
events.dropDuplicates(["key"]).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
