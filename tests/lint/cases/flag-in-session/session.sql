SET spark.databricks.streaming.realTimeMode.enabled = true; -- expect: flag-in-session
