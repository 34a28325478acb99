from functools import partial


def start(writer, mode):
    return writer.outputMode(mode).trigger(realTime="5 minutes").start()  # expect: output-mode


events = spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")
run = partial(start, mode="append")
run(events.writeStream.format("console"))
