from pyspark.sql import SparkSession


class Bell:
    def trigger(self, realTime):
        return realTime


Bell().trigger(realTime=True)
