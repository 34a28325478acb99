import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;

public class Lower {
  public static StreamingQuery start(SparkSession spark, Map<String, String> kafka, String checkpoint)
      throws TimeoutException {
    Dataset<String> values = spark.readStream().format("kafka").options(kafka).load()
        .selectExpr("cast(value as string)").as(Encoders.STRING())
        .map((MapFunction<String, String>) String::toLowerCase, Encoders.STRING());
    return values.writeStream().format("kafka").options(kafka).option("checkpointLocation", checkpoint)
        .outputMode("update").trigger(Trigger.RealTime("5 minutes")).start();
  }
}
