"""Never write trigger(realTime=True) in real-time mode."""

from pyspark.sql import SparkSession

MESSAGE = ".trigger(realTime=True) raises VALUE_NOT_NON_EMPTY_STR"
# writer.trigger(realTime=True).start()
