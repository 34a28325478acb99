from functools import reduce

from pyspark.sql import DataFrame

events = spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")
branches = [events.where(rule) for rule in ("a", "b")]
reduce(DataFrame.unionByName, branches).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()  # expect: union-self
