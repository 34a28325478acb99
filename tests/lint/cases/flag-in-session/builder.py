from pyspark.sql import SparkSession

spark = SparkSession.builder.config("spark.databricks.streaming.realTimeMode.enabled", "true").getOrCreate()  # expect: flag-in-session
