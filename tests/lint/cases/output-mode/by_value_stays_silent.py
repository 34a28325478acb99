def start(stream, mode):
    writer = stream.writeStream.format("console")
    if mode == "real-time":
        writer = writer.outputMode("update").trigger(realTime="5 minutes")
    elif mode == "continuous":
        writer = writer.outputMode("append").trigger(continuous="1 second")
    else:
        writer = writer.outputMode("append")
    return writer.start()
