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
 * Writes one line per statistic: number of the newest record, record count, and time in microseconds.
 *
 * Each partition and epoch has its own file. Memory cannot hold the results, because tasks load this class again.
 */
class StatisticsWriter(folder: String) extends ForeachWriter[Row] {
  @transient private var file: OutputStream = _

  def open(partition: Long, epoch: Long): Boolean = {
    // Each write is a complete line, so the files can be read at any time.
    file = Files.newOutputStream(Path.of(folder, s"$epoch-$partition-${MemorySource.nowMicros()}"))
    true
  }
  def process(row: Row): Unit =
    file.write(s"${row.getLong(0)} ${row.getLong(1)} ${MemorySource.nowMicros()}\n".getBytes)
  def close(error: Throwable): Unit = file.close()
}

/** The work per row that Python cannot do: send records to Spark's memory source at a rate, and write the results. */
object MemorySource {
  def source(spark: SparkSession, partitions: Int): LowLatencyMemoryStream[java.lang.Long] =
    LowLatencyMemoryStream[java.lang.Long](spark, partitions)(Encoders.LONG)

  def start(statistics: DataFrame, trigger: Trigger, checkpoint: String, outputs: String): StreamingQuery = {
    val writer = statistics.writeStream.foreach(new StatisticsWriter(outputs)).outputMode("update").trigger(trigger)
    writer.option("checkpointLocation", checkpoint).start()
  }

  /** Send record n at n / rate seconds after the first record, or as soon as possible. Return the first due time. */
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
