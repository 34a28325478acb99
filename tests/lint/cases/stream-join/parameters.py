def matched(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.join(right, "key")  # expect: stream-join


def read(spark, topic):
    return spark.readStream.format("kafka").option("subscribe", topic).load().select("key", "value")


def main(spark):
    matched(read(spark, "a"), read(spark, "b")).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
