cluster = {"num_workers": 4, "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
client.create(**cluster)
