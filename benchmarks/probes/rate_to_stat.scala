/* A source that releases each row when it is due, in both modes, and a sink that keeps latencies in a KLL sketch. */
package rate_to_stat

import java.util.{Map, Set => JavaSet}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.locks.LockSupport

import org.apache.datasketches.kll.KllLongsSketch
import org.apache.spark.sql.{ForeachWriter, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead.RecordStatus
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

class Provider extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = StructType.fromDDL("due_us long")
  override def getTable(schema: StructType, by: Array[Transform], options: Map[String, String]): Table =
    new RateTable(schema, Rate(options.get("originUs").toLong, options.get("rowsPerSecond").toLong, options.get("numPartitions").toInt))
}

/** Row `n` of a partition is due at a fixed time, so a late row counts its delay. */
case class Rate(originUs: Long, rowsPerSecond: Long, partitions: Int) {
  def dueUs(partition: Int, n: Long): Long = originUs + (n * partitions + partition) * 1000000L / rowsPerSecond
  def dueRows(): Long = math.max(0, (Rate.nowUs() - originUs) * rowsPerSecond / 1000000L / partitions)
}
object Rate { def nowUs(): Long = System.currentTimeMillis() * 1000L }

class RateTable(schema: StructType, rate: Rate) extends Table with SupportsRead {
  override def name(): String = "rate_to_stat"
  override def schema(): StructType = schema
  override def capabilities(): JavaSet[TableCapability] = JavaSet.of(TableCapability.MICRO_BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new Scan {
    override def readSchema(): StructType = schema
    override def toMicroBatchStream(checkpoint: String): MicroBatchStream = new RateStream(rate)
  }
}

case class Position(partition: Int, row: Long) extends PartitionOffset
case class Positions(rows: Seq[Long]) extends Offset { override def json(): String = rows.mkString(",") }
case class Slice(rate: Rate, partition: Int, from: Long, until: Long) extends InputPartition

class RateStream(rate: Rate) extends MicroBatchStream with SupportsRealTimeMode {
  private def slices(start: Offset, until: Int => Long): Array[InputPartition] =
    start.asInstanceOf[Positions].rows.zipWithIndex.map { case (from, p) => Slice(rate, p, from, until(p)) }.toArray
  override def initialOffset(): Offset = Positions(Seq.fill(rate.partitions)(0L))
  override def latestOffset(): Offset = Positions(Seq.fill(rate.partitions)(rate.dueRows()))
  override def deserializeOffset(json: String): Offset = Positions(json.split(",").map(_.toLong).toSeq)
  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    slices(start, end.asInstanceOf[Positions].rows)
  override def planInputPartitions(start: Offset): Array[InputPartition] = slices(start, _ => Long.MaxValue)
  override def mergeOffsets(ends: Array[PartitionOffset]): Offset =
    Positions(ends.map(_.asInstanceOf[Position]).sortBy(_.partition).map(_.row).toSeq)
  override def createReaderFactory(): PartitionReaderFactory = new RateReaderFactory()
  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
}

class RateReaderFactory extends PartitionReaderFactory {
  override def createReader(slice: InputPartition): PartitionReader[InternalRow] = new RateReader(slice.asInstanceOf[Slice])
}

class RateReader(slice: Slice) extends SupportsRealTimeRead[InternalRow] {
  private var row = slice.from - 1
  private val values = InternalRow(0L)
  override def next(): Boolean = { row += 1; row < slice.until }
  override def get(): InternalRow = { values.setLong(0, slice.rate.dueUs(slice.partition, row)); values }
  override def getOffset(): PartitionOffset = Position(slice.partition, row + 1)
  override def nextWithTimeout(startMs: java.lang.Long, timeoutMs: java.lang.Long): RecordStatus = {
    val dueUs = slice.rate.dueUs(slice.partition, row + 1)
    val endUs = (startMs + timeoutMs) * 1000L
    while (Rate.nowUs() < dueUs && Rate.nowUs() < endUs) LockSupport.parkNanos(500000L)
    val isDue = Rate.nowUs() >= dueUs
    if (isDue) row += 1
    RecordStatus.newStatusWithoutArrivalTime(isDue)
  }
  override def close(): Unit = ()
}

/** Latencies of rows that are due after a start, by partition: one task at a time updates a sketch. */
object Stats {
  /** Spark contains DataSketches. With this size, ranks are wrong by 0.1 % of the rows. */
  private[rate_to_stat] val Size = 4000
  @volatile private[rate_to_stat] var (fromUs, untilUs) = (Long.MaxValue, Long.MaxValue)
  private[rate_to_stat] val sketches = new ConcurrentHashMap[Long, KllLongsSketch]()
  def measure(from: Long, until: Long): Unit = { fromUs = Long.MaxValue; sketches.clear(); untilUs = until; fromUs = from }
  def writer(): ForeachWriter[Row] = new StatWriter
  private def merged(): KllLongsSketch = {
    val all = KllLongsSketch.newHeapInstance(Stats.Size)
    sketches.values.forEach(sketch => all.merge(sketch))
    all
  }
  def count(): Long = merged().getN
  def quantileUs(share: Double): Long = merged().getQuantile(share)
}

class StatWriter extends ForeachWriter[Row] {
  @transient private var sketch: KllLongsSketch = _
  override def open(partition: Long, epoch: Long): Boolean = {
    sketch = Stats.sketches.computeIfAbsent(partition, _ => KllLongsSketch.newHeapInstance(Stats.Size))
    true
  }
  override def process(row: Row): Unit = {
    val dueUs = row.getLong(0)
    if (dueUs >= Stats.fromUs && dueUs < Stats.untilUs) sketch.update(Rate.nowUs() - dueUs)
  }
  override def close(error: Throwable): Unit = ()
}
