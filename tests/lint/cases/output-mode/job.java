public class Job {
  private static final String INTERVAL = "1 second";

  static Dataset<Row> read(SparkSession spark, String topic) {
    return spark.readStream().format("kafka").option("subscribe", topic).load();
  }

  public static void main(String[] args) throws Exception {
    SparkSession spark = SparkSession.builder().getOrCreate();
    Dataset<Row> users = spark.read().table("users");
    Dataset<Row> joined = read(spark, "events").join(users, "key"); // expect: static-join
    joined.select("key", "value").writeStream()
        .format("console")
        .outputMode(OutputMode.Append()) // expect: output-mode
        .trigger(Trigger.RealTime(INTERVAL)) // expect: trigger-interval
        .foreachBatch((VoidFunction2<Dataset<Row>, Long>) (rows, id) -> rows.show()) // expect: foreach-batch
        .start();
  }
}
