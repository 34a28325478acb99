if spark.conf.get("spark.databricks.streaming.realTimeMode.enabled", "false") != "true":
    raise SystemExit("set spark.databricks.streaming.realTimeMode.enabled on the cluster")
