package spark_rtm.control

import java.util.{HashMap => JavaMap, Map, Optional, Set => JavaSet}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import org.apache.spark.{SPARK_VERSION, SparkContext, SparkException, TaskContext}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReader, PartitionReaderFactory, Scan, ScanBuilder}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead.RecordStatus
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.vectorized.ColumnarBatch

import spark_rtm.exactly_once.Batches

/**
 * A Kafka source whose real-time batches can be ended on command. `control.py` is the Python side.
 *
 * A real-time partition reader ends its part of a batch by returning no record, and reports the offset that it has
 * reached. The readers of this source return no record if the run has received a command after the batch was planned.
 * All readers of a batch compare with the same plan, so a command ends the batch in all readers or in none.
 */
object Commands {
  private[control] val Versions = "4.3."

  /** Whether the source supports this Spark version. */
  def isUsable(): Boolean = SPARK_VERSION.startsWith(Versions) && !sys.env.contains("DATABRICKS_RUNTIME_VERSION")

  private val latest = new ConcurrentHashMap[String, AtomicLong]()
  private val held = ConcurrentHashMap.newKeySet[String]()
  private val streams = new ConcurrentHashMap[String, JavaSet[KafkaStream]]()
  private[control] val readers = new AtomicInteger()

  /** Number of the run's latest command that this JVM has received. */
  private[control] def of(run: String): AtomicLong = latest.computeIfAbsent(run, _ => new AtomicLong())

  /** The id of the run that owns the calling thread. Spark uses this id as the job group. */
  private def run: String = SparkContext.getOrCreate().getLocalProperty("spark.jobGroup.id")

  @volatile private[spark_rtm] var isSilent = false

  /** Set whether new sources read nothing until their query stops. */
  def silence(on: Boolean): Unit = isSilent = on

  private[control] def add(stream: KafkaStream): Unit =
    Option(run).foreach(streams.computeIfAbsent(_, _ => ConcurrentHashMap.newKeySet[KafkaStream]()).add(stream))

  private[control] def plan(): Plan = of(run).synchronized(Plan(run, of(run).get, held.contains(run)))

  private[control] def forget(stream: KafkaStream): Unit = streams.forEach { (run, known) =>
    if (known.remove(stream) && known.isEmpty) Seq(streams, latest).foreach(_.remove(run))
    if (!streams.containsKey(run)) held.remove(run)
  }

  private[control] def all: JavaMap[String, java.lang.Long] = {
    val numbers = new JavaMap[String, java.lang.Long]()
    latest.forEach((run, number) => numbers.put(run, number.get))
    numbers
  }

  private[control] def learn(numbers: Map[String, java.lang.Long]): Unit =
    // Keep the numbers of ended runs, because an older reply from the driver may lack a run that has just started.
    numbers.forEach((run, number) => of(run).accumulateAndGet(number, math.max(_, _)))

  private def known(run: String): Seq[KafkaStream] =
    Option(streams.get(run)).fold(Seq.empty[KafkaStream])(_.toArray(Array.empty[KafkaStream]).toSeq)

  /** Number of sources in this run that support commands (0 before they are ready and in micro-batch mode). */
  def sources(run: String): Int = known(run).count(_.obeys)

  /** Number of sources in this run that read nothing. */
  def silentSources(run: String): Int = known(run).count(_.isSilent)

  /** Whether commands reach all executors. */
  def reachesExecutors(): Boolean = {
    val context = SparkContext.getOrCreate()
    context.isLocal || context.getConf.get("spark.plugins", "").split(",").map(_.trim).contains(classOf[Plugin].getName)
  }

  /** End the current batch. Later batches read nothing while the run is held. */
  def end(run: String, hold: Boolean): Unit = of(run).synchronized {
    if (hold) held.add(run) else held.remove(run)
    of(run).incrementAndGet()
  }

  /** Whether the open batch reads nothing, which means that all of the run's results are committed. */
  def isHeld(run: String): Boolean = {
    val plans = known(run).filter(_.obeys).map(_.planned)
    plans.nonEmpty && plans.forall(plan => plan.holds && plan.command == of(run).get)
  }
}

/** State shared by all readers of a batch: the latest command at planning time, and whether the batch reads nothing. */
case class Plan(run: String, command: Long, holds: Boolean)

/** Sends the driver's commands to a cluster's executors. Executors request commands only while they read. */
class Plugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new DriverPlugin {
    override def receive(message: Object): Object = if (message == "batches") Batches.all else Commands.all
  }

  override def executorPlugin(): ExecutorPlugin = new ExecutorPlugin {
    @volatile private var isRunning = true

    override def init(context: PluginContext, settings: Map[String, String]): Unit =
      if (context.executorID != "driver") {
        val follower = new Thread(() => while (isRunning) follow(context), "rtm-control")
        follower.setDaemon(true)
        follower.start()
      }

    override def shutdown(): Unit = isRunning = false

    private def asked(context: PluginContext, what: String) = context.ask(what).asInstanceOf[Map[String, java.lang.Long]]

    private def follow(context: PluginContext): Unit = {
      Thread.sleep(KafkaReader.SliceMs)
      // Without its driver, an executor exits soon. Until then, failed requests have no effect.
      try {
        if (Commands.readers.get > 0) Commands.learn(asked(context, "commands"))
        if (Batches.waiting.get > 0) Batches.learn(asked(context, "batches"))
      } catch { case _: Exception => () }
    }
  }
}

class KafkaProvider extends TableProvider with DataSourceRegister {
  private lazy val kafka = {
    if (!Commands.isUsable())
      throw new SparkException(
        s"the source '$shortName' works only with open-source Spark ${Commands.Versions}x, and this is $SPARK_VERSION; " +
          "use the source 'kafka', which reads the same checkpoint")
    val loader = Thread.currentThread.getContextClassLoader
    Class.forName("org.apache.spark.sql.kafka010.KafkaSourceProvider", true, loader)
      .getDeclaredConstructor().newInstance().asInstanceOf[TableProvider]
  }

  override def shortName(): String = "rtm-kafka"
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = kafka.inferSchema(options)
  override def supportsExternalMetadata(): Boolean = kafka.supportsExternalMetadata()
  override def getTable(schema: StructType, partitioning: Array[Transform], properties: Map[String, String]): Table =
    new KafkaTable(kafka.getTable(schema, partitioning, properties).asInstanceOf[Table with SupportsRead])
}

class KafkaTable(table: Table with SupportsRead) extends Table with SupportsRead {
  override def name(): String = table.name()
  override def columns(): Array[Column] = table.columns()
  override def capabilities(): JavaSet[TableCapability] =
    JavaSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = {
    val builder = table.newScanBuilder(options)
    () => new KafkaScan(builder.build())
  }
}

class KafkaScan(scan: Scan) extends Scan {
  override def readSchema(): StructType = scan.readSchema()
  override def description(): String = scan.description()
  override def toBatch(): Batch = scan.toBatch()
  override def supportedCustomMetrics(): Array[CustomMetric] = scan.supportedCustomMetrics()
  override def reportDriverMetrics(): Array[CustomTaskMetric] = scan.reportDriverMetrics()
  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = scan.toMicroBatchStream(checkpoint) match {
    case stream: KafkaStream.Inner @unchecked if stream.isInstanceOf[SupportsRealTimeMode] => new KafkaStream(stream)
    case _ => throw new SparkException(
        "this Kafka connector has no real-time mode, so the source 'rtm-kafka' cannot read; use connector 4.2 or newer")
  }
}

object KafkaStream {
  type Inner = MicroBatchStream with SupportsRealTimeMode with SupportsTriggerAvailableNow with ReportsSourceMetrics
}

class KafkaStream(stream: KafkaStream.Inner)
    extends MicroBatchStream with SupportsRealTimeMode with SupportsTriggerAvailableNow with ReportsSourceMetrics {
  @volatile private[control] var planned = Plan("", 0, holds = false)
  @volatile private[control] var obeys = false
  private[control] val isSilent = Commands.isSilent
  Commands.add(this)

  override def planInputPartitions(start: Offset): Array[InputPartition] = {
    planned = Commands.plan()
    if (isSilent) planned = planned.copy(holds = true)
    stream.planInputPartitions(start).map(KafkaPartition(_, planned))
  }
  override def createReaderFactory(): PartitionReaderFactory = new KafkaReaderFactory(stream.createReaderFactory())
  override def stop(): Unit = {
    Commands.forget(this)
    stream.stop()
  }

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = stream.mergeOffsets(offsets)
  override def prepareForRealTimeMode(): Unit = {
    obeys = true
    stream.prepareForRealTimeMode()
  }
  override def prepareForTriggerAvailableNow(): Unit = stream.prepareForTriggerAvailableNow()
  override def getDefaultReadLimit(): ReadLimit = stream.getDefaultReadLimit()
  override def initialOffset(): Offset = stream.initialOffset()
  override def latestOffset(): Offset = stream.latestOffset()
  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    // A silent source also calls this method, because Kafka's source stores the result for its metrics.
    val latest = stream.latestOffset(start, limit)
    if (isSilent) Option(start).getOrElse(stream.initialOffset()) else latest
  }
  override def reportLatestOffset(): Offset = stream.reportLatestOffset()
  override def deserializeOffset(json: String): Offset = stream.deserializeOffset(json)
  override def commit(end: Offset): Unit = stream.commit(end)
  /** For a batch that a command ended, also return Kafka's latest offsets, which Spark does not report elsewhere. */
  override def metrics(consumed: Optional[Offset]): Map[String, String] = {
    val reported = new JavaMap[String, String](stream.metrics(consumed))
    if (consumed.isPresent && Commands.of(planned.run).get > planned.command) {
      val latest = stream.latestOffset(deserializeOffset(consumed.get.json), ReadLimit.allAvailable())
      reported.put("latestOffsets", latest.json)
    }
    reported
  }
  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    stream.planInputPartitions(start, end)
  override def toString: String = stream.toString
}

case class KafkaPartition(partition: InputPartition, plan: Plan) extends InputPartition {
  override def preferredLocations(): Array[String] = partition.preferredLocations()
}

class KafkaReaderFactory(factory: PartitionReaderFactory) extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case KafkaPartition(inner, plan) =>
      new KafkaReader(factory.createReader(inner).asInstanceOf[SupportsRealTimeRead[InternalRow]], plan)
    case _ => factory.createReader(partition)
  }
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    factory.createColumnarReader(partition)
  override def supportColumnarReads(partition: InputPartition): Boolean = false
}

object KafkaReader {
  val SliceMs = 50L
  // Without a minimum, commands could end every batch before its first fetch, and the query would never read a record.
  val MinReadMs = 200L
  private val NoRecord = RecordStatus.newStatusWithoutArrivalTime(false)
}

class KafkaReader(reader: SupportsRealTimeRead[InternalRow], plan: Plan) extends SupportsRealTimeRead[InternalRow] {
  private val command = Commands.of(plan.run)
  Commands.readers.incrementAndGet()
  TaskContext.get().addTaskCompletionListener[Unit](_ => Commands.readers.decrementAndGet())

  private var beganMs = 0L

  private def ends(): Boolean =
    command.get > plan.command && (plan.holds || System.currentTimeMillis() - beganMs >= KafkaReader.MinReadMs)

  override def nextWithTimeout(startMs: java.lang.Long, timeoutMs: java.lang.Long): RecordStatus = {
    if (beganMs == 0) beganMs = System.currentTimeMillis()
    var leftMs = timeoutMs.longValue
    while (leftMs > 0 && !ends()) {
      val sliceMs = math.min(leftMs, KafkaReader.SliceMs)
      if (plan.holds) Thread.sleep(sliceMs)
      else {
        val status = reader.nextWithTimeout(startMs, sliceMs)
        if (status.hasRecord) return status
      }
      leftMs = timeoutMs - (System.currentTimeMillis() - startMs)
    }
    KafkaReader.NoRecord
  }
  override def getOffset(): PartitionOffset = reader.getOffset()
  override def next(): Boolean = reader.next()
  override def get(): InternalRow = reader.get()
  override def currentMetricsValues(): Array[CustomTaskMetric] = reader.currentMetricsValues()
  override def initMetricsValues(metrics: Array[CustomTaskMetric]): Unit = reader.initMetricsValues(metrics)
  override def close(): Unit = reader.close()
}
