# Databricks notebook source
events = spark.readStream.format("kafka").option("subscribe", "events").load()
others = spark.readStream.format("kafka").option("subscribe", "others").load()
events.join(others, "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
