class Job:
    interval = 300

    def run(self, stream):
        writer = stream.writeStream.format("console").outputMode("update")
        return writer.trigger(realTime=self.interval).start()  # expect: trigger-duration
