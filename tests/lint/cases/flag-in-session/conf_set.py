spark.conf.set("spark.databricks.streaming.realTimeMode.enabled", "true")  # expect: flag-in-session
