package spark_rtm.exactly_once

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.util.{HashMap => JavaMap, Map => JMap, Properties}
import java.util.concurrent.{ConcurrentHashMap, ExecutionException, Executors, TimeUnit}
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration.{Duration => Wait}
import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.kafka.clients.admin.Admin
import org.apache.kafka.clients.producer.{Callback, KafkaProducer, Producer, ProducerRecord, RecordMetadata}
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.errors._
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.kafka.common.serialization.ByteArraySerializer
import org.apache.kafka.common.utils.{AppInfoParser, ProducerIdAndEpoch}

import org.apache.spark.{SPARK_VERSION, SparkContext, TaskContext}
import org.apache.spark.sql.{DataFrame, ForeachWriter, Row, SparkSession}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.functions.{current_timestamp, unix_millis}
import org.apache.spark.sql.streaming.{DataStreamWriter, StreamingQueryListener}
import org.apache.spark.util.SerializableConfiguration

import spark_rtm.control.{Commands, Plugin}

/**
 * A sink that writes each partition of a batch in one Kafka transaction. `__init__.py` is the Python side.
 *
 * A task flushes its transaction and records it in the checkpoint, but the transaction stays open. When the batch is in
 * Spark's commit log, the same executor commits the transaction. If that executor has died, the partition's next task
 * commits the transaction instead. The start of a later batch shows that a batch is in the commit log. A task that
 * repeats a batch aborts the transaction of an earlier attempt.
 *
 * Two transactional ids per partition alternate, so a batch can begin while the previous batch is being committed.
 *
 * Two drivers can run the same batch, for example if a suspended driver resumes. The offset log accepts the batch from
 * only one driver, and contains its start time. A transaction is committed only if it has the same start time.
 */
object Sink {
  private[exactly_once] val Versions = "4.3."
  private[exactly_once] val Client = "3.9.2"
  private[exactly_once] val BatchTime = "_rtm_batch_ms"
  private[exactly_once] val Columns = Map(
    "key" -> Set("string", "binary"), "value" -> Set("string", "binary"), "topic" -> Set("string"),
    "partition" -> Set("int"), "headers" -> Set("array<struct<key:string,value:binary>>"))

  /** The reason why this session cannot use the sink, or an empty string. */
  def obstacle(): String =
    if (!SPARK_VERSION.startsWith(Versions) || sys.env.contains("DATABRICKS_RUNTIME_VERSION"))
      s"it works only with open-source Spark ${Versions}x, and this is $SPARK_VERSION"
    else if (AppInfoParser.getVersion != Client || Resumed.missing().nonEmpty)
      s"it works only with kafka-clients $Client, and this session has ${AppInfoParser.getVersion} ${Resumed.missing()}".trim
    else if (SparkContext.getOrCreate().getConf.getBoolean("spark.speculation", false))
      "a second attempt of a task aborts the transaction of the first one; set spark.speculation to false"
    else if (!Commands.reachesExecutors())
      s"executors do not learn which batches are committed; add ${classOf[Plugin].getName} to `spark.plugins`"
    else ""

  /** The error in the columns, or an empty string. */
  def wrongColumns(rows: DataFrame, topic: String): String = {
    val types = rows.schema.map(field => field.name -> field.dataType.catalogString).toMap
    val wrong = types.collect {
      case (name, found) if Columns.get(name).exists(!_.contains(found)) => s"column '$name' is $found instead of ${Columns(name).mkString(" or ")}"
    }
    val missing = Seq("value").filterNot(types.contains).map(name => s"the rows have no column '$name'")
    val noTopic = if (topic.isEmpty && !types.contains("topic")) Seq("neither a column nor the option names the topic") else Nil
    (wrong ++ missing ++ noTopic).mkString("; ")
  }

  def writer(rows: DataFrame, prefix: String, checkpoint: String, topic: String, client: JMap[String, String])
      : DataStreamWriter[Row] = {
    val session = rows.sparkSession
    Batches.listen(session)
    val conf = new SerializableConfiguration(session.sessionState.newHadoopConf())
    val settings = Settings.of(prefix, checkpoint, topic, client)
    val known = rows.schema.fieldNames.filter(Columns.contains).map(rows.col)
    val timed = rows.select(known.toIndexedSeq: _*).withColumn(BatchTime, unix_millis(current_timestamp()))
    timed.writeStream.foreach(new TransactionWriter(settings, timed.schema.fieldNames.zipWithIndex.toMap, conf))
  }

  /**
   * Before the query starts, commit an earlier run's open transactions whose batches are in the commit log.
   * Return the reason why the query must not start, or an empty string.
   */
  def beforeStart(session: SparkSession, prefix: String, checkpoint: String, topic: String, client: JMap[String, String]): String = {
    val settings = Settings.of(prefix, checkpoint, topic, client)
    val records = new Records(settings, session.sessionState.newHadoopConf())
    val refusal = Brokers.refusal(settings)
    val owner = records.owner(settings.prefix)
    if (refusal.nonEmpty) refusal
    else if (owner != settings.prefix)
      s"[EXACTLY_ONCE_OTHER_PREFIX] checkpoint $checkpoint belongs to the transactional prefix '$owner', and the query has " +
        s"'$prefix', so its open transactions would stay open; use '$owner', or a new checkpoint"
    else lost(settings, records)
  }

  private def lost(settings: Settings, records: Records): String = {
    val newest = records.newestCommit
    val open = records.all.filter(_.batch <= newest).groupBy(_.partition).toSeq.sortBy(_._1)
    implicit val context: ExecutionContext = Transactions.context
    val settled = Future.traverse(open) { case (_, ones) => Future(ones.map(_.batch).distinct.sorted.flatMap { batch =>
      try { Transactions.settle(settings, ones.filter(_.batch == batch), batch + 1, records); Seq(batch -> None) }
      catch { case error: LostTransactionException => Seq(batch -> Some(error.getMessage)) }
    }.map { case (batch, error) => (ones.head.partition, batch, error) }) }
    val (bad, good) = Await.result(settled, Wait.Inf).flatten.partition(_._3.nonEmpty)
    if (bad.isEmpty) ""
    else s"${bad.head._3.get}. Aborted: ${listed(bad)}. Committed: ${listed(good)}. Repeat the batch with " +
      s"exactly_once.repeat_lost('${settings.checkpoint}'), or delete its records in transactions/ to go on without these rows"
  }

  private def listed(ones: Seq[(Long, Long, Option[String])]): String =
    if (ones.isEmpty) "none"
    else ones.groupBy(_._2).toSeq.sortBy(_._1)
      .map { case (batch, parts) => s"partitions ${parts.map(_._1).sorted.mkString(", ")} of batch $batch" }.mkString("; ")
}

case class Settings(prefix: String, checkpoint: String, topic: Option[String], client: Map[String, String]) {
  def id(partition: Long, batch: Long): String = s"$prefix-$partition-${batch % 2}"

  def timeoutSeconds: Long = client("transaction.timeout.ms").toLong / 1000

  def producer(id: String): KafkaProducer[Array[Byte], Array[Byte]] = {
    val all = new Properties()
    client.foreach { case (key, value) => all.put(key, value) }
    all.put("transactional.id", id)
    new KafkaProducer(all, new ByteArraySerializer(), new ByteArraySerializer())
  }
}

object Settings {
  /** A standby that warms up uses different ids, because it must not end the leader's transactions. */
  def of(prefix: String, checkpoint: String, topic: String, client: JMap[String, String]): Settings = {
    val own = if (Commands.isSilent) s"$prefix-warm-up-${checkpoint.hashCode.toHexString}" else prefix
    Settings(own, checkpoint, Option(topic).filter(_.nonEmpty), client.asScala.toMap)
  }
}

/** Broker checks before a query starts. */
object Brokers {
  def refusal(settings: Settings): String = {
    val producer = settings.producer(settings.prefix + "-start")
    try { producer.initTransactions(); topicRefusal(settings) }
    catch {
      case _: TransactionalIdAuthorizationException | _: ClusterAuthorizationException =>
        s"[EXACTLY_ONCE_NOT_AUTHORIZED] the user of the query must not write transactions whose ids begin with " +
          s"'${settings.prefix}'; grant WRITE and DESCRIBE on the transactional ids with this prefix"
      case error: KafkaException if error.getMessage.contains("transaction.max.timeout.ms") =>
        s"[EXACTLY_ONCE_TIMEOUT] the transactions of the query last up to ${settings.timeoutSeconds} s, but the brokers allow " +
          s"at most ${maxSeconds(settings)} s (transaction.max.timeout.ms); lower timeout_seconds, or raise the limit"
    } finally producer.close(Duration.ZERO)
  }

  private def asked[T](settings: Settings)(question: Admin => T): T = {
    val admin = Admin.create(settings.client.asInstanceOf[Map[String, AnyRef]].asJava)
    try question(admin) finally admin.close(Duration.ZERO)
  }

  private def maxSeconds(settings: Settings): String =
    try asked(settings) { admin =>
      val broker = new ConfigResource(ConfigResource.Type.BROKER, admin.describeCluster().nodes().get().iterator().next().idString)
      val confs = admin.describeConfigs(List(broker).asJava).all().get().get(broker)
      (confs.get("transaction.max.timeout.ms").value.toLong / 1000).toString
    } catch { case _: ExecutionException => "an unknown number of" }

  private def topicRefusal(settings: Settings): String = settings.topic.fold("") { topic =>
    try { asked(settings)(_.describeTopics(List(topic).asJava).allTopicNames().get()); "" }
    catch {
      case error: ExecutionException if error.getCause.isInstanceOf[UnknownTopicOrPartitionException] =>
        s"[EXACTLY_ONCE_NO_TOPIC] topic '$topic' does not exist, so the query would fail at its first row; create it first"
    }
  }
}

/** The newest committed batch of each run, as far as this JVM has observed the commit log. */
object Batches {
  /** Number of transactions that this JVM has prepared but not committed. */
  val waiting = new AtomicInteger()
  private val newest = new ConcurrentHashMap[String, java.lang.Long]()
  private val sessions = ConcurrentHashMap.newKeySet[SparkSession]()

  def listen(session: SparkSession): Unit =
    if (sessions.add(session)) session.streams.addListener(new StreamingQueryListener {
      override def onQueryStarted(event: StreamingQueryListener.QueryStartedEvent): Unit = ()
      override def onQueryProgress(event: StreamingQueryListener.QueryProgressEvent): Unit =
        learn(Map(event.progress.runId.toString -> java.lang.Long.valueOf(event.progress.batchId)).asJava)
      override def onQueryTerminated(event: StreamingQueryListener.QueryTerminatedEvent): Unit =
        Transactions.end(event.runId.toString)
    })

  def all: JavaMap[String, java.lang.Long] = new JavaMap(newest)

  def learn(batches: JMap[String, java.lang.Long]): Unit = {
    batches.forEach((run, batch) => newest.merge(run, batch, (old, one) => math.max(old, one)))
    Transactions.commitThrough(newest.asScala)
  }
}

/** A transaction that waits for the commit log. Its name is the file name of its record in the checkpoint. */
case class Prepared(partition: Long, batch: Long, began: Long, producer: Long, epoch: Short) {
  def name: String = s"$partition-$batch-$began-$producer-$epoch"
}

/** The prepared transactions in the checkpoint's file system, one file per transaction. */
class Records(settings: Settings, conf: Configuration) {
  private val checkpoint = new Path(settings.checkpoint)
  private val folder = new Path(checkpoint, "transactions")
  private lazy val files = { val one = CheckpointFileManager.create(folder, conf); one.mkdirs(folder); one }

  private def write(name: String, text: String, overwrites: Boolean): Unit = {
    val out = files.createAtomic(new Path(folder, name), overwrites)
    try { out.write(text.getBytes(UTF_8)); out.close() } catch { case error: Throwable => out.cancel(); throw error }
  }

  private def text(path: Path): Option[String] =
    if (!files.exists(path)) None
    else {
      val in = files.open(path)
      try Some(new String(in.readAllBytes(), UTF_8)) finally in.close()
    }

  def write(record: Prepared): Unit = write(record.name, "v1\n", overwrites = true)

  def delete(record: Prepared): Unit = files.delete(new Path(folder, record.name))

  def all: Seq[Prepared] = files.list(folder).toSeq.map(_.getPath.getName).collect {
    case Records.Name(partition, batch, began, producer, epoch) =>
      Prepared(partition.toLong, batch.toLong, began.toLong, producer.toLong, epoch.toShort)
  }

  /** The transactional prefix of the first query that used this checkpoint. */
  def owner(prefix: String): String = {
    val path = new Path(folder, "prefix")
    text(path).getOrElse { write("prefix", prefix, overwrites = false); prefix }
  }

  /** Whether the offset log contains the attempt that wrote this transaction. */
  def isInOffsetLog(record: Prepared): Boolean =
    text(new Path(checkpoint, s"offsets/${record.batch}")).flatMap(Records.Began.findFirstMatchIn(_))
      .exists(_.group(1).toLong == record.began)

  /** The newest batch in the commit log, or -1. */
  def newestCommit: Long = {
    val commits = new Path(checkpoint, "commits")
    if (!files.exists(commits)) -1 else files.list(commits).map(_.getPath.getName).flatMap(_.toLongOption).maxOption.getOrElse(-1)
  }
}

object Records {
  private val Name = raw"(\d+)-(\d+)-(\d+)-(\d+)-(\d+)".r
  private val Began = "\"batchTimestampMs\":(\\d+)".r
}

class LostTransactionException(settings: Settings, prepared: Prepared, cause: Throwable)
    extends RuntimeException(
      s"[EXACTLY_ONCE_TRANSACTION_LOST] batch ${prepared.batch} is in the commit log, but the brokers have aborted " +
        s"transaction ${settings.id(prepared.partition, prepared.batch)}, which was open for longer than " +
        s"${settings.timeoutSeconds} s or has a newer producer, so readers of committed records miss its rows", cause)

class FencedException(settings: Settings, id: String, cause: Throwable)
    extends RuntimeException(
      s"[EXACTLY_ONCE_FENCED] the brokers have ended transaction $id: a second query has the prefix '${settings.prefix}', a " +
        s"second process runs this query, or the transaction was open for longer than ${settings.timeoutSeconds} s; stop " +
        "the second one, or raise timeout_seconds", cause)

/** The transaction for one partition of a batch. */
class Transaction(val settings: Settings, val run: String, val partition: Long, val batch: Long, records: Records,
    val producer: KafkaProducer[Array[Byte], Array[Byte]]) {
  val id: String = settings.id(partition, batch)
  private val failure = new AtomicReference[Exception]()
  private var began = 0L // no row yet
  private var record: Option[Prepared] = None
  private val onDone: Callback = (_: RecordMetadata, error: Exception) => if (error != null) failure.compareAndSet(null, error)

  /** Send a record of the batch that began at `batchBegan`, in milliseconds. */
  def send(record: ProducerRecord[Array[Byte], Array[Byte]], batchBegan: Long): Unit = {
    check()
    try producer.send(record, onDone) catch { case error: KafkaException => fail(error) }
    began = batchBegan
  }

  /** Flush all records to the topic, and record the transaction, which stays open. */
  def prepare(): Unit = {
    producer.flush()
    check()
    if (began > 0) {
      val identity = Resumed.identity(producer)
      val one = Prepared(partition, batch, began, identity.producerId, identity.epoch)
      records.write(one)
      record = Some(one)
    }
  }

  def commit(): Unit = { producer.commitTransaction(); record.foreach(records.delete) }

  // If the broker does not respond now, the next attempt aborts the transaction.
  def abort(): Unit = try producer.abortTransaction() catch { case _: Exception => () } finally producer.close(Duration.ZERO)

  private def check(): Unit = Option(failure.get).foreach(fail)

  private def fail(error: Exception): Unit = {
    val first = Option(failure.get).getOrElse(error)
    throw Seq(first, first.getCause).collectFirst {
      case fenced @ (_: ProducerFencedException | _: InvalidProducerEpochException) => new FencedException(settings, id, fenced)
    }.getOrElse(new KafkaException(s"${first.getClass.getName}: ${first.getMessage}", first)) // Spark shows only the message
  }
}

/** All transactions in this JVM. */
object Transactions {
  private type Client = KafkaProducer[Array[Byte], Array[Byte]]
  private val idle = new ConcurrentHashMap[String, (String, Client)]()
  private val prepared = new ConcurrentHashMap[String, Transaction]()
  private val ran = new ConcurrentHashMap[String, (String, Long)]()
  private val ended = ConcurrentHashMap.newKeySet[String]()
  private lazy val pool = {
    val threads = Executors.newCachedThreadPool { task =>
      val thread = new Thread(task, "rtm-exactly-once"); thread.setDaemon(true); thread
    }
    // Without this wait, a program could exit and leave its last batch's transactions open until its next start.
    sys.addShutdownHook { threads.shutdown(); threads.awaitTermination(10, TimeUnit.SECONDS) }
    threads
  }
  private[exactly_once] lazy val context = ExecutionContext.fromExecutor(pool)

  /** Begin a batch's transaction after the partition's earlier transactions are committed or aborted. */
  def begin(settings: Settings, task: TaskContext, batch: Long, records: Records): Transaction = {
    val (partition, run) = (task.partitionId().toLong, task.getLocalProperty("spark.jobGroup.id"))
    val id = settings.id(partition, batch)
    val isNext = ran.put(settings.id(partition, 0), (run, batch)) == (run, batch - 1)
    if (isNext) {
      commitThrough(Map(run -> java.lang.Long.valueOf(batch - 1)))
      Option(prepared.get(id)).foreach(commit)
    }
    // An idle producer has committed its previous transaction. Otherwise, the records show the open transactions.
    if (!isNext || !idle.containsKey(id)) settleBefore(settings, task, batch, records, if (isNext) Seq(batch) else Seq(batch, batch + 1))
    val producer = Option(idle.remove(id)).map(_._2).getOrElse { val one = settings.producer(id); one.initTransactions(); one }
    producer.beginTransaction()
    new Transaction(settings, run, partition, batch, records, producer)
  }

  private def settleBefore(settings: Settings, task: TaskContext, batch: Long, records: Records, slots: Seq[Long]): Unit = {
    val partition = task.partitionId().toLong
    slots.map(settings.id(partition, _)).foreach { id =>
      // Another run may have fenced these producers.
      Option(prepared.get(id)).foreach(one => one.synchronized { one.producer.close(Duration.ZERO); forget(one) })
      Option(idle.remove(id)).foreach(_._2.close(Duration.ZERO))
    }
    // The first partition also handles the transactions of partitions that this run does not have.
    val open = records.all.filter(one => one.partition == partition || partition == 0 && one.partition >= task.numPartitions())
    settle(settings, open.filter(one => slots.exists(_ % 2 == one.batch % 2)), batch, records)
  }

  /** Commit prepared transactions whose batches are before `next` and in the offset log. Abort all others. */
  def settle(settings: Settings, open: Seq[Prepared], next: Long, records: Records): Unit =
    open.groupBy(one => (one.partition, one.batch)).toSeq.sortBy(_._1).foreach { case (_, attempts) =>
      attempts.filter(one => one.batch < next && records.isInOffsetLog(one)) match {
        // A paused driver can have written its record later than another driver began a transaction with the same id.
        case Seq() => attempts.foreach(end(settings, _)(_.abortTransaction()))
        case valid => commitOne(settings, valid)
      }
      attempts.foreach(records.delete)
    }

  /** Commit the only attempt that the brokers have not aborted. */
  private def commitOne(settings: Settings, attempts: Seq[Prepared]): Unit = {
    val errors = attempts.flatMap(one => end(settings, one)(_.commitTransaction()).map(new LostTransactionException(settings, one, _)))
    if (errors.size == attempts.size) throw errors.head
  }

  /** End a transaction, or return why it has already ended. Later transactions with the same id stay open. */
  private def end(settings: Settings, one: Prepared)(how: Client => Unit): Option[Throwable] = {
    val producer = settings.producer(settings.id(one.partition, one.batch))
    try { Resumed.resume(producer, new ProducerIdAndEpoch(one.producer, one.epoch)); how(producer); None }
    catch {
      case error @ (_: InvalidTxnStateException | _: ProducerFencedException | _: InvalidProducerEpochException |
          _: InvalidPidMappingException) => Some(error)
    } finally producer.close(Duration.ZERO) // a producer whose transaction has ended otherwise would try to abort it forever
  }

  def add(one: Transaction): Unit = {
    prepared.put(one.id, one)
    Batches.waiting.set(prepared.size)
  }

  def commitThrough(newest: collection.Map[String, java.lang.Long]): Unit = prepared.forEach { (_, one) =>
    if (newest.get(one.run).exists(_ >= one.batch)) pool.execute(() => commit(one))
  }

  /** Commit a transaction once. A second caller waits until the first caller has finished. */
  private def commit(one: Transaction): Unit = one.synchronized {
    if (prepared.get(one.id) eq one) try {
      one.commit()
      if (ended.contains(one.run)) one.producer.close() else idle.put(one.id, (one.run, one.producer))
    } catch {
      case _: Exception =>
        // The record stays in the checkpoint, so the partition's next task commits the transaction or fails.
        ran.remove(one.settings.id(one.partition, 0))
        one.producer.close(Duration.ZERO)
    } finally forget(one)
  }

  private def forget(one: Transaction): Unit = {
    prepared.remove(one.id, one)
    Batches.waiting.set(prepared.size)
  }

  /** Close the idle producers of a run. */
  def end(run: String): Unit = {
    ended.add(run)
    idle.forEach((id, one) => if (one._1 == run && idle.remove(id, one)) one._2.close(Duration.ZERO))
  }
}

class TransactionWriter(settings: Settings, positions: Map[String, Int], conf: SerializableConfiguration) extends ForeachWriter[Row] {
  @transient private var transaction: Transaction = _

  override def open(partition: Long, batch: Long): Boolean = {
    transaction = Transactions.begin(settings, TaskContext.get(), batch, new Records(settings, conf.value))
    true
  }

  override def process(row: Row): Unit = {
    def value[T](name: String): Option[T] = positions.get(name).filterNot(row.isNullAt).map(row.getAs[T])
    def bytes(name: String): Array[Byte] = value[Any](name) match {
      case Some(text: String) => text.getBytes(UTF_8)
      case Some(data: Array[Byte]) => data
      case _ => null
    }
    val topic = settings.topic.orElse(value[String]("topic")).getOrElse(
      throw new IllegalArgumentException("a row has a null topic, and no option names a topic"))
    val record = new ProducerRecord(topic, value[Int]("partition").map(Int.box).orNull, bytes("key"), bytes("value"))
    value[collection.Seq[Row]]("headers").foreach(_.foreach(one => record.headers.add(new RecordHeader(one.getString(0), one.getAs[Array[Byte]](1)))))
    transaction.send(record, row.getAs[Long](positions(Sink.BatchTime)))
  }

  override def close(error: Throwable): Unit = if (transaction != null) {
    if (error != null) transaction.abort()
    else try { transaction.prepare(); Transactions.add(transaction) } catch { case failed: Throwable => transaction.abort(); throw failed }
  }
}

/** Access to non-public members of Kafka's client. No released client can resume transactions (KIP-939). */
object Resumed {
  private lazy val Manager = Class.forName(
    "org.apache.kafka.clients.producer.internals.TransactionManager", true, getClass.getClassLoader)
  private lazy val States = Class.forName(Manager.getName + "$State", true, getClass.getClassLoader)

  private def manager(producer: Producer[_, _]): AnyRef =
    field(classOf[KafkaProducer[_, _]], "transactionManager").get(producer)

  private def field(owner: Class[_], name: String) = { val one = owner.getDeclaredField(name); one.setAccessible(true); one }

  private def method(name: String, argument: Class[_]) = {
    val one = Manager.getDeclaredMethod(name, argument); one.setAccessible(true); one
  }

  private def state(name: String): AnyRef =
    States.getEnumConstants.find(_.toString == name).map(_.asInstanceOf[AnyRef]).getOrElse(
      throw new NoSuchFieldException(s"$States has no $name"))

  /** The members used here that this client lacks, or an empty string. */
  def missing(): String =
    try {
      Seq("producerIdAndEpoch", "transactionStarted").foreach(field(Manager, _))
      field(classOf[KafkaProducer[_, _]], "transactionManager")
      method("transitionTo", States)
      method("setProducerIdAndEpoch", classOf[ProducerIdAndEpoch])
      Seq("INITIALIZING", "READY", "IN_TRANSACTION").foreach(state)
      ""
    } catch { case error: ReflectiveOperationException => error.toString }

  /** The producer id and epoch of an initialized producer. */
  def identity(producer: Producer[_, _]): ProducerIdAndEpoch =
    field(Manager, "producerIdAndEpoch").get(manager(producer)).asInstanceOf[ProducerIdAndEpoch]

  /** Make a new producer continue the transaction of another producer with the same transactional id. */
  def resume(producer: Producer[_, _], identity: ProducerIdAndEpoch): Unit = {
    val (one, transition) = (manager(producer), method("transitionTo", States))
    one.synchronized {
      transition.invoke(one, state("INITIALIZING"))
      method("setProducerIdAndEpoch", classOf[ProducerIdAndEpoch]).invoke(one, identity)
      Seq("READY", "IN_TRANSACTION").foreach(name => transition.invoke(one, state(name)))
      field(Manager, "transactionStarted").setBoolean(one, true)
    }
  }
}
