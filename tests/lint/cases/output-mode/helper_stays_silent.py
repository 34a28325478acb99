def mode_of(fast):
    if fast:
        return "update"
    return "append"


def start(stream, fast):
    writer = stream.writeStream.format("console").outputMode(mode_of(fast))
    return writer.trigger(**({"realTime": "5 minutes"} if fast else {"once": True})).start()
