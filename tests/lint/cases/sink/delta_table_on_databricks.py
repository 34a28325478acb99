# Databricks notebook source
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("delta").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").toTable("silver.events")  # expect: sink
