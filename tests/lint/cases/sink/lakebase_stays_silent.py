# Databricks notebook source
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").toTable("lakebase.public.events")
events.writeStream.format("postgresql").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
