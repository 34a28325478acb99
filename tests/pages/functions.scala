/* Scala and Java functions for the table of operators without state. */
package row_functions

import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.api.java.UDF1
import org.apache.spark.sql.functions.{col, udf}

/** A function for SQL, which Python registers by its class name. */
class Marked extends UDF1[String, String] {
  override def call(text: String): String = text + "!"
}

object Functions {
  private val text = Encoders.STRING

  def scalaUdf(rows: DataFrame): DataFrame = rows.select(udf((key: String) => key + "!").apply(col("k")).as("k"))

  def typed(rows: DataFrame): DataFrame =
    rows.select("k").as(text).map((key: String) => key + "+")(text)
      .flatMap((key: String) => Seq(key, key + "?"))(text).filter((key: String) => key != "b!!!+").toDF("k")

  def mapPartitions(rows: DataFrame): DataFrame =
    rows.select("k").as(text).mapPartitions((keys: Iterator[String]) => keys.map(_ + "!"))(text).toDF("k")
}
