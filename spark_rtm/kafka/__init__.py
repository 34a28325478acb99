"""Create Kafka topics, and read topics to the end, without Spark."""

from spark_rtm import require

require("kafka", "kafka", "confluent_kafka")
