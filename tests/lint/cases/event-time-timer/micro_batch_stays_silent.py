# Databricks notebook source
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.groupBy("key").transformWithState(Counter(), outputStructType="key string", outputMode="Update", timeMode="EventTime").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
