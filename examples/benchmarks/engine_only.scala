package benchmarks

import java.io.OutputStream
import java.nio.file.{Files, Path}
import java.time.Instant
import java.time.temporal.ChronoUnit.MICROS
import java.util.concurrent.locks.LockSupport

import org.apache.spark.sql.{DataFrame, Encoders, ForeachWriter, Row, SparkSession}
import org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

/**
 * Notes when each statistic leaves the engine, in a file for each partition and epoch: the number of its newest record,
 * how many it counts, and the time. Not in memory, because tasks load this class anew.
 */
class Arrivals(folder: String) extends ForeachWriter[Row] {
  @transient private var file: OutputStream = _

  def open(partition: Long, epoch: Long): Boolean = {
    // Whole lines at once, so that a reader may come at any time.
    file = Files.newOutputStream(Path.of(folder, s"$epoch-$partition-${RateToStat.nowMicros()}"))
    true
  }
  def process(row: Row): Unit =
    file.write(s"${row.getLong(0)} ${row.getLong(1)} ${RateToStat.nowMicros()}\n".getBytes)
  def close(error: Throwable): Unit = file.close()
}

/** What Python cannot do row by row: feed records into Spark's memory source at a rate, and take the results. */
object RateToStat {
  def source(spark: SparkSession, partitions: Int): LowLatencyMemoryStream[java.lang.Long] =
    LowLatencyMemoryStream[java.lang.Long](spark, partitions)(Encoders.LONG)

  def start(stats: DataFrame, trigger: Trigger, checkpoint: String, arrivals: String): StreamingQuery = {
    val writer = stats.writeStream.foreach(new Arrivals(arrivals)).outputMode("update").trigger(trigger)
    writer.option("checkpointLocation", checkpoint).start()
  }

  /** Record n is due n / rate seconds after the first, late or not; returns when the first was due. */
  def send(source: LowLatencyMemoryStream[java.lang.Long], rate: Double, count: Int): Long = {
    val first = nowMicros()
    for (number <- 0L until count.toLong) {
      val due = first + (number * 1e6 / rate).toLong
      while (nowMicros() < due) LockSupport.parkNanos(100000)
      source.addData(Iterator.single(java.lang.Long.valueOf(number)))
    }
    first
  }

  def nowMicros(): Long = MICROS.between(Instant.EPOCH, Instant.now())
}
