class Job:
    def __init__(self):
        self.trigger = {"realTime": True}  # expect: trigger-duration

    def run(self, stream):
        writer = stream.writeStream.format("console").outputMode("update")
        return writer.trigger(**self.trigger).start()
