class RealTimeSuite extends AnyFunSuite {
  test("append is refused") {
    val error = intercept[AnalysisException] {
      df.writeStream.format("console").outputMode("append").trigger(Trigger.RealTime("5 seconds")).start()
    }
  }

  test("sorting fails") {
    val query = df.orderBy("key").writeStream.format("console").outputMode("update").trigger(Trigger.RealTime("5 seconds")).start()
    assertThrows[StreamingQueryException] {
      query.processAllAvailable()
    }
  }
}
