class Job:
    def __init__(self, fast):
        self.fast = fast

    def start(self, stream):
        writer = stream.writeStream.format("console")
        if self.fast:
            return writer.outputMode("update").trigger(realTime="30 seconds").start()
        return writer.outputMode("append").trigger(processingTime="1 second").start()
