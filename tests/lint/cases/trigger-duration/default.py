def start(stream, interval=True):
    writer = stream.writeStream.format("console").outputMode("update")
    return writer.trigger(realTime=interval).start()  # expect: trigger-duration
