def start(stream, fast):
    writer = stream.writeStream.format("console")
    mode = "update" if fast else "append"
    trigger = {"realTime": "5 minutes"} if fast else {"processingTime": "1 second"}
    return writer.outputMode(mode).trigger(**trigger).start()
