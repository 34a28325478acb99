def start(stream, fast):
    writer = stream.writeStream.format("console")
    if fast:
        writer = writer.outputMode("update")
    else:
        writer = writer.outputMode("append")
    if not fast:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(realTime="5 minutes").start()
