spark.conf.set("spark.databricks.streaming.realTimeMode.streamStreamJoin.enabled", "true")
