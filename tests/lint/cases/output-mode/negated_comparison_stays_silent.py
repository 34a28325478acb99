def trigger_of(kind):
    if kind == "real-time":
        return {"realTime": "5 minutes"}
    return {"processingTime": "1 second"}


def start(stream, kind):
    mode = "append" if kind != "real-time" else "update"
    return stream.writeStream.format("console").outputMode(mode).trigger(**trigger_of(kind)).start()
