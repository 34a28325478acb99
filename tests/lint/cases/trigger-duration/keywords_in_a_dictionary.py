TRIGGERS = {"fast": {"realTime": True}, "slow": {"processingTime": "1 minute"}}  # expect: trigger-duration
events = spark.readStream.format("kafka").option("subscribe", "events").load()
writer = events.writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update")
writer.trigger(**TRIGGERS["fast"]).start()
