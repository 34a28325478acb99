from pyspark import pipelines as dp


@dp.table(spark_conf={"pipelines.trigger": "RealTime"})  # expect: pipeline-flow
def alerts():
    return spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")


@dp.append_flow(target="alerts", spark_conf={"pipelines.trigger": "RealTime"})  # expect: pipeline-flow
def more():
    return spark.readStream.format("kafka").option("subscribe", "more").load().select("key", "value")
