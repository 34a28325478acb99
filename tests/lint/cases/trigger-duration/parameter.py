def start(writer, interval):
    return writer.outputMode("update").trigger(realTime=interval).start()  # expect: trigger-duration


events = spark.readStream.format("kafka").option("subscribe", "events").load()
start(events.writeStream.format("console"), 300)
