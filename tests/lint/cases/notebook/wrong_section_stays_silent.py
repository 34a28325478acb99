# Databricks notebook source
events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update")

# COMMAND ----------

# MAGIC %md ## Wrong: a truth value in real-time mode

# COMMAND ----------

writer.trigger(realTime=True).start()

# COMMAND ----------

# MAGIC %md ## Right

# COMMAND ----------

writer.trigger(realTime="5 minutes").start()
