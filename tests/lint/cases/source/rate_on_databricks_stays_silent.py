# Databricks notebook source
stream = spark.readStream.format("rate").load("/in")
stream.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
