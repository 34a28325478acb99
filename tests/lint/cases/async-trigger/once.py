ASYNC = {"asyncProgressTrackingEnabled": True}
events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.format("kafka").options(**ASYNC).trigger(once=True).start()  # expect: async-trigger
