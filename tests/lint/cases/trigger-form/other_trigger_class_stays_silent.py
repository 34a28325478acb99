from airflow.triggers import Trigger
from pyspark.sql import SparkSession

run = Trigger.RealTime("5 minutes")
option = {"realtime": True}
