events = spark.readStream.format("kafka").option("subscribe", "events").load()

for mode in ("update", "append"):
    for trigger in ({"realTime": "5 minutes"}, {"processingTime": "1 second"}):
        if "realTime" in trigger and mode != "update":
            continue
        events.writeStream.format("console").outputMode(mode).trigger(**trigger).start()
