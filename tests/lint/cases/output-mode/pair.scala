class Jobs(private[this] val spark: SparkSession) {
  private[rtm] val record = new Record
  record.touch()
  val (first, second) = (
    df.writeStream.format("console").outputMode("update").trigger(Trigger.RealTime("5 minutes")).start(),
    df.writeStream.format("console").outputMode("append").trigger(Trigger.RealTime("5 minutes")).start() // expect: output-mode
  )
  an [AnalysisException] should be thrownBy {
    df.writeStream.format("console").outputMode("append").trigger(Trigger.RealTime("5 minutes")).start()
  }
}
