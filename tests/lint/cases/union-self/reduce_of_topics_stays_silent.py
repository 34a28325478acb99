from functools import reduce

from pyspark.sql import DataFrame


def read(topic):
    return spark.readStream.format("kafka").option("subscribe", topic).load().select("key", "value")


reduce(DataFrame.unionByName, [read(topic) for topic in ("a", "b")]).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
