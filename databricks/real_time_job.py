"""
Run the five queries of the ad-attribution pipeline as a job on Databricks; `databricks.yml` starts it.

Nobody has run this file on Databricks. The tests run the same calls on open-source Spark 4.3.0.
"""

import os
import sys

from pyspark.sql import SparkSession

# A script starts in its own folder; the packages are beside it.
sys.path.append(os.path.abspath(".."))

from examples.attribution.pipeline import query_starters
from examples.attribution.settings import Settings
from examples.attribution.topics import create_topics
from spark_rtm.realtime.keeper import keep
from spark_rtm.realtime.login import login_of_environment

spark = SparkSession.builder.getOrCreate()
servers, checkpoints = os.environ["KAFKA_BOOTSTRAP_SERVERS"], os.environ["CHECKPOINTS"]
login, client = login_of_environment()
settings = Settings(interval_seconds=300)
partitions = create_topics(servers, settings.topic_prefix, settings.partitions, client)
keep(spark, query_starters(settings, spark, servers, partitions, checkpoints, login=login))
