from pyspark.sql import functions as F


@F.udf("string")
def clean(value):
    return value


events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.withColumn("value", clean("value"))  # expect: python-udf
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
