def start(stream, options):
    return stream.writeStream.format("console").trigger(realTime="5 minutes").start(**options)
