# Databricks notebook source
# MAGIC %md
# MAGIC # Real-time mode: start here
# MAGIC
# MAGIC **Nobody has run this notebook on Databricks.** Our tests lint it and run its second query on open-source Spark 4.3.0 with a real Kafka broker; the statements about Databricks come from its documentation, with dates in `references/`.
# MAGIC
# MAGIC You need a classic cluster with Databricks Runtime 18 or newer, dedicated access mode, no Photon, no autoscaling, and the `spark.databricks.streaming.realTimeMode.enabled true` setting.

# COMMAND ----------

# MAGIC %md
# MAGIC ## 1. See rows within milliseconds
# MAGIC
# MAGIC Open-source Spark does not support the `rate` source in real-time mode. Stop this cell before you run the next one, because each query occupies its task slots until it ends.

# COMMAND ----------

events = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
display(events, realTime="5 minutes", outputMode="update")

# COMMAND ----------

# MAGIC %md
# MAGIC ## 2. Kafka to Kafka
# MAGIC
# MAGIC Fill in the two fields above. For each record in `clicks`, the query writes one record to `shouts`. If a record is not valid text, the query writes an empty value, so no record can make the query fail.

# COMMAND ----------

dbutils.widgets.text("bootstrap_servers", "")
dbutils.widgets.text("checkpoints", "")
servers, checkpoints = dbutils.widgets.get("bootstrap_servers"), dbutils.widgets.get("checkpoints")

clicks = (
    spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", "clicks").load()
)
shouts = clicks.selectExpr(
    "left(key, 1000) as key", "left(upper(try_validate_utf8(cast(value as string))), 100000) as value"
)
query = (
    shouts.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", servers)
    .option("topic", "shouts")
    .option("checkpointLocation", f"{checkpoints}/shouts")
    .queryName("clicks_to_shouts")
    .outputMode("update")
    .trigger(realTime="5 minutes")
    .start()
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## 3. The ad-attribution pipeline
# MAGIC
# MAGIC Five queries from Kafka to Kafka need 22 task slots and a job of their own: `databricks bundle deploy` in this folder, with `databricks.yml` and `real_time_job.py`. `references/production.md` explains each setting.
