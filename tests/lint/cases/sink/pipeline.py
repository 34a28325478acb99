from pyspark import pipelines as dp

dp.create_sink("archive", "delta", {"tableName": "main.rtm.archive"})  # expect: sink
dp.create_sink(name="alerts", format="kafka", options={"topic": "alerts"})


@dp.update_flow(target="archive", spark_conf={"pipelines.trigger": "RealTime"})
def archive():
    return spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")


@dp.update_flow(target="alerts", spark_conf={"pipelines.trigger": "RealTime"})
def alerts():
    return spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")
