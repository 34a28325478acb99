# Databricks notebook source
from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
clean = F.udf(lambda value: value)
events.select(clean("value").alias("value")).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
