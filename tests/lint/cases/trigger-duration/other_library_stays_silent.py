import alarms
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
bell = alarms.Bell("door")
bell.trigger(realTime=True)
alarms.trigger(realTime=True)
