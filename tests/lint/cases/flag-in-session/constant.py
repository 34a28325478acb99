FLAG = "spark.databricks.streaming.realTimeMode.enabled"
spark.conf.set(FLAG, True)  # expect: flag-in-session
