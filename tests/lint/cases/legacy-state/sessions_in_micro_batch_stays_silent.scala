class Sessions(spark: SparkSession) {
  val clicks = spark.readStream.format("kafka").option("subscribe", "clicks").load().as[Click]
  clicks.groupByKey(_.user).mapGroupsWithState(GroupStateTimeout.NoTimeout)(update)
    .writeStream.format("console").outputMode("update").trigger(Trigger.ProcessingTime("5 seconds")).start() // not RealTime
}
