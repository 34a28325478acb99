from pyspark.sql import SparkSession


class Panel:
    def press(self):
        self.alarm.trigger(realTime=True)


def ring(bell, writer):
    bell.trigger(realTime=True)
    writer.trigger(realTime=True, volume=3)
