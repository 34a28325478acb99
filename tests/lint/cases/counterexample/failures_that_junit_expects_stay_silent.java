public class RefusalTest {
  private final SparkSession spark = TestSession.get();

  @Test(expected = AnalysisException.class)
  public void appendIsRefused() throws Exception {
    rows.writeStream().format("console").outputMode("append").trigger(Trigger.RealTime("5 seconds")).start();
  }

  @Test
  public void sortingFails() throws Exception {
    StreamingQuery query = rows.orderBy("key").writeStream().format("console").outputMode("update").trigger(Trigger.RealTime("5 seconds")).start();
    assertThatThrownBy(() -> query.processAllAvailable()).isInstanceOf(StreamingQueryException.class);
  }
}
