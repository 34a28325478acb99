# Databricks notebook source
# MAGIC %md
# MAGIC # Real-time mode
# MAGIC Enable Photon for real-time mode. <!-- expect: claim-photon -->

# COMMAND ----------

events = spark.readStream.format("kafka").option("subscribe", "events").load()

# COMMAND ----------

# MAGIC %scala
# MAGIC df.writeStream.format("console").outputMode("append").trigger(RealTimeTrigger.apply("5 minutes")).start() // expect: output-mode

# COMMAND ----------

%pip install something
events.writeStream.format("console").outputMode("update").trigger(realTime=True).start()  # expect: trigger-duration
