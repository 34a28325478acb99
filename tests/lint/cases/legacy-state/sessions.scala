class Sessions(spark: SparkSession) {
  def run(topic: String): StreamingQuery = {
    val clicks = spark.readStream.format("kafka").option("subscribe", topic).load().as[Click]
    clicks
      .groupByKey(_.user)
      .flatMapGroupsWithState(OutputMode.Update, GroupStateTimeout.NoTimeout)(update) // expect: legacy-state
      .writeStream.format("console").outputMode("update").trigger(Trigger.RealTime("5 minutes")).start()
  }
}
