def enrich(spark, topic):
    users = spark.read.table("users")
    events = spark.readStream.format("kafka").option("subscribe", topic).load().select("key", "value")
    return events.join(users, "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()  # expect: static-join


class Job:
    def __init__(self, session: "SparkSession"):
        self.session = session

    def run(self, events):
        users = self.session.read.parquet("/users")
        return events.join(users, "key").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()  # expect: static-join
