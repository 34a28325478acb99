# engine: databricks
events = (
    spark.readStream.format("kafka")
    .option("subscribe", "e")
    .option("minOffsetsPerTrigger", 8)
    .option("maxTriggerDelay", "1m")
    .load()
)
writer = events.writeStream.format("kafka").option("checkpointLocation", "/c").option("kafka.transactional.id", "t")
writer.outputMode("update").trigger(realTime="5 minutes").start()
