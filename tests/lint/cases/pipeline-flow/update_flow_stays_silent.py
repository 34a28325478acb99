from pyspark import pipelines as dp


@dp.update_flow(target="alerts", spark_conf={"pipelines.trigger": "RealTime", "pipelines.trigger.interval": "5 minutes"})
def alerts():
    return spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")


@dp.table(spark_conf={"pipelines.trigger.interval": "10 seconds"})
def events():
    return spark.readStream.table("bronze")
