from functools import partial

events = spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")
writer = events.writeStream.format("console").outputMode("update")
real_time = partial(writer.trigger, realTime=True)  # expect: trigger-duration
real_time().start()
