def start(stream, mode):
    writer = stream.writeStream.format("console")
    match mode:
        case "real-time":
            writer = writer.outputMode("update").trigger(realTime="5 minutes")
        case "batch":
            writer = writer.outputMode("append").trigger(availableNow=True)
    return writer.start()
