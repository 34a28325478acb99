# Databricks notebook source
events = spark.readStream.format("kafka").option("subscribe", "events").load()
stream = events.groupBy("key").transformWithStateInPandas(Counter(), "key string", "Update", "ProcessingTime")  # expect: python-state
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
