ASYNC = {"asyncProgressTrackingEnabled": True}  # expect: async-trigger
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").options(**ASYNC).trigger(once=True).start()
