public class Job {
  public static void main(String[] args) throws Exception {
    SparkSession spark = SparkSession.builder().config("spark.sql.shuffle.partitions", "4").getOrCreate();
    Map<String, String> options = new HashMap<>();
    options.put("subscribe", "events");
    Dataset<Row> events = spark.readStream().format("kafka").options(options).load();
    events.groupBy(col("key")).count().selectExpr("key", "CAST(count AS STRING) AS value").writeStream()
        .format("kafka").option("topic", "out").option("checkpointLocation", args[0])
        .outputMode(OutputMode.Update()).trigger(Trigger.RealTime(10, TimeUnit.SECONDS)).start().awaitTermination();
  }

  @Test
  void refused() {
    assertThrows(AnalysisException.class, () ->
        rows.writeStream().format("console").outputMode("append").trigger(Trigger.RealTime("5 seconds")).start());
  }
}
