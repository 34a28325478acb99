"""Works without real-time mode."""

from pyspark.sql.functions import col, pandas_udf


@pandas_udf("string")
def clean(values):
    return values.str.strip()


events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.select(clean(col("value")).alias("value"))
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
