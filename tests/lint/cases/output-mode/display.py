# Databricks notebook source
events = spark.readStream.format("kafka").option("subscribe", "events").load()
display(events, realTime="5 minutes", outputMode="append")  # expect: output-mode
