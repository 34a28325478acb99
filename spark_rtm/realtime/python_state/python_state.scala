package org.apache.spark.rtm

import java.io.{BufferedInputStream, BufferedOutputStream, DataInputStream, DataOutputStream, File, IOException}
import java.nio.channels.Channels
import java.time.{Duration, Instant, LocalDate, LocalDateTime}
import java.util.{ArrayList => JavaList, Collection, HashMap => JavaMap, Map}
import scala.jdk.CollectionConverters._

import net.razorvine.pickle.{Pickler, Unpickler}
import org.apache.spark.{SparkEnv, SparkException, SparkFiles, TaskContext}
import org.apache.spark.sql.{DataFrame, Encoders, KeyValueGroupedDataset, Row}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, IntervalUtils}
import org.apache.spark.sql.execution.python.EvaluatePython
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * Run Python code on a real-time query's rows. `__init__.py` calls this object. `worker.py` runs in the Python process.
 *
 * Each task exchanges pickled tuples with one worker from Spark's pool of Python processes. State stays in Spark's
 * handle: a request contains its key's value states, and the reply contains all changes.
 * This file is in one of Spark's packages, because the pool is private to Spark.
 */
object PythonState {
  def transformWithState(rows: DataFrame, initial: DataFrame, setup: Array[Byte], command: Array[Byte]): DataFrame = {
    val parts = Pickled.load(setup).asInstanceOf[Array[Any]]
    val keys = parts(3).asInstanceOf[Collection[String]].asScala.toArray
    val key = StructType(keys.map(rows.schema(_)))
    val states = parts(4).asInstanceOf[Collection[Array[Any]]].asScala.map(State(_)).toArray
    val output = schema(parts(2))
    val processor = new PythonProcessor(Worker(parts, command), states, output, parts(5).asInstanceOf[Number].intValue)
    val (time, mode, results) = (TimeMode.ProcessingTime(), OutputMode.Update(), Encoders.row(output))
    val grouped = byKey(rows, keys, key)
    if (initial == null) grouped.transformWithState(processor, time, mode)(results).toDF()
    else grouped.transformWithState(processor, time, mode, byKey(initial, keys, key))(results, Encoders.row(initial.schema))
      .toDF()
  }

  private def byKey(rows: DataFrame, keys: Array[String], key: StructType): KeyValueGroupedDataset[Row, Row] = {
    val indexes = keys.map(rows.schema.fieldIndex).toSeq
    rows.toDF().groupByKey((row: Row) => Row.fromSeq(indexes.map(row.get)))(Encoders.row(key))
  }

  def map(rows: DataFrame, setup: Array[Byte], command: Array[Byte]): DataFrame = {
    val parts = Pickled.load(setup).asInstanceOf[Array[Any]]
    val (worker, output) = (Worker(parts, command), schema(parts(2)))
    // PySpark's `spark.range` is a Dataset of numbers.
    rows.toDF().mapPartitions { (rows: Iterator[Row]) =>
      val (session, result) = (new Session(worker), new FromPython(output))
      rows.flatMap(row => session.exchange(Array[Any]("row", null, Pickled.python(row), 0L, null), NoState).map(result(_)))
    }(Encoders.row(output))
  }

  private[rtm] def schema(json: Any): StructType =
    Option(json).map(text => DataType.fromJson(text.toString).asInstanceOf[StructType]).orNull
}

/** The settings for a Python process, and the pickled work that the process receives first. */
case class Worker(
    executable: String, module: String, environment: scala.collection.immutable.Map[String, String],
    command: Array[Byte], archives: Array[String])

object Worker {
  def apply(parts: Array[Any], command: Array[Byte]): Worker = {
    val environment = parts(1).asInstanceOf[Map[String, String]].asScala.toMap
    val archives = parts(7).asInstanceOf[Collection[String]].asScala.toArray
    Worker(parts(0).toString, parts(6).toString, environment + ("SPARK_REUSE_WORKER" -> "1"), command, archives)
  }
}

/** A state variable that the Python processor declares in `init`. */
case class State(kind: String, name: String, schema: StructType, key: StructType, ttl: TTLConfig)

object State {
  def apply(parts: Array[Any]): State = State(parts(0).toString, parts(1).toString, PythonState.schema(parts(2)),
    PythonState.schema(parts(3)),
    Option(parts(4)).map(ms => TTLConfig(Duration.ofMillis(ms.asInstanceOf[Number].longValue))).getOrElse(TTLConfig.NONE))
}

/** Applies the changes in a reply, and reads state that the request did not contain. */
trait Changes {
  def change(parts: Array[Any]): Unit
  def read(parts: Array[Any]): Any
}

object NoState extends Changes {
  def change(parts: Array[Any]): Unit = throw new IllegalStateException("a function without a processor has no state")
  def read(parts: Array[Any]): Any = change(parts)
}

class PythonProcessor(worker: Worker, declared: Array[State], output: StructType, tickPartitions: Int)
    extends StatefulProcessorWithInitialState[Row, Row, Row, Row] with Changes {
  @transient private var session: Session = _
  @transient private var states: Array[Any] = _
  @transient private var values: Array[ValueState[Row]] = _
  @transient private var fromPython: Array[FromPython] = _
  @transient private var keys: Array[FromPython] = _
  @transient private var result: FromPython = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    states = declared.map {
      case State("value", name, schema, _, ttl) => getHandle.getValueState[Row](name, Encoders.row(schema), ttl)
      case State("list", name, schema, _, ttl) => getHandle.getListState[Row](name, Encoders.row(schema), ttl)
      case State("map", name, schema, key, ttl) =>
        getHandle.getMapState[Row, Row](name, Encoders.row(key), Encoders.row(schema), ttl)
    }
    values = states.collect { case state: ValueState[_] => state.asInstanceOf[ValueState[Row]] }
    fromPython = declared.map(state => new FromPython(state.schema))
    keys = declared.map(state => Option(state.key).map(new FromPython(_)).orNull)
    result = new FromPython(output)
    // The driver also calls this method to find the state variables.
    Option(TaskContext.get()).foreach { task =>
      // The checkpoint determines the number of state partitions. The session determines how many receive ticks.
      if (tickPartitions > 0 && tickPartitions != task.numPartitions()) throw new SparkException(
        s"the ticks reach $tickPartitions state partitions, but the checkpoint has ${task.numPartitions()}, so timers of " +
          s"some keys would not fire; set spark.sql.shuffle.partitions to ${task.numPartitions()} before you add the ticks")
      session = new Session(worker)
    }
  }

  override def handleInputRows(key: Row, rows: Iterator[Row], timers: TimerValues): Iterator[Row] = rows.flatMap { row =>
    if (tickPartitions > 0 && !row.isNullAt(row.length - 1)) Iterator.empty
    else exchange("row", key, Pickled.python(row), timers)
  }

  override def handleInitialState(key: Row, initial: Row, timers: TimerValues): Unit =
    exchange("initial", key, Pickled.python(initial), timers)

  override def handleExpiredTimer(key: Row, timers: TimerValues, timer: ExpiredTimerInfo): Iterator[Row] =
    exchange("timer", key, timer.getExpiryTimeInMs(), timers)

  private def exchange(kind: String, key: Row, payload: Any, timers: TimerValues): Iterator[Row] = {
    val stored = values.map(state => Pickled.python(state.get()))
    val request = Array[Any](kind, Pickled.python(key), payload, timers.getCurrentProcessingTimeInMs(), stored)
    session.exchange(request, this).map(result(_))
  }

  override def change(parts: Array[Any]): Unit = parts match {
    case Array("register", ms: Number) => getHandle.registerTimer(ms.longValue)
    case Array("delete", ms: Number) => getHandle.deleteTimer(ms.longValue)
    case Array(name: String, number: Int, arguments @ _*) => (name, states(number), arguments) match {
      case ("update", state: ValueState[Row @unchecked], Seq(value)) => state.update(fromPython(number)(value))
      case ("put", state: ListState[Row @unchecked], Seq(rows)) => state.put(rowsOf(number, rows))
      case ("append", state: ListState[Row @unchecked], Seq(rows)) => state.appendList(rowsOf(number, rows))
      case ("put", state: MapState[Row @unchecked, Row @unchecked], Seq(key, value)) =>
        state.updateValue(keys(number)(key), fromPython(number)(value))
      case ("remove", state: MapState[Row @unchecked, Row @unchecked], Seq(key)) => state.removeKey(keys(number)(key))
      case ("clear", state: ValueState[_], _) => state.clear()
      case ("clear", state: ListState[_], _) => state.clear()
      case ("clear", state: MapState[_, _], _) => state.clear()
    }
  }

  override def read(parts: Array[Any]): Any = parts match {
    case Array("timers") => new JavaList(getHandle.listTimers().map(Long.box).toSeq.asJava)
    case Array(name: String, number: Int, arguments @ _*) => (name, states(number), arguments) match {
      case ("exists", state: ListState[_], _) => state.exists()
      case ("exists", state: MapState[_, _], _) => state.exists()
      case ("get", state: ListState[_], _) => new JavaList(state.get().map(Pickled.python).toSeq.asJava)
      case ("get", state: MapState[Row @unchecked, Row @unchecked], Seq(key)) =>
        Pickled.python(state.getValue(keys(number)(key)))
      case ("all", state: MapState[_, _], _) =>
        new JavaList(state.iterator().map { case (key, value) => Array(Pickled.python(key), Pickled.python(value)) }.toSeq.asJava)
    }
  }

  private def rowsOf(number: Int, rows: Any): Array[Row] =
    rows.asInstanceOf[Collection[Any]].asScala.map(fromPython(number)(_)).toArray
}

/** The message exchange between a task and its Python process. */
private[rtm] class Session(worker: Worker) {
  import worker.{executable, module}
  // Spark's own workers receive the job's archives later, but this worker's module can be in an archive.
  private val path = worker.archives.map(SparkFiles.get) ++ worker.environment.get("PYTHONPATH")
  private val environment = worker.environment + ("PYTHONPATH" -> path.mkString(File.pathSeparator))
  private val process = SparkEnv.get.createPythonWorker(executable, module, module, environment, true)._1
  private val channel = process.channel
  Option(process.selector).foreach(_.close())
  channel.configureBlocking(true)
  private val input = new DataInputStream(new BufferedInputStream(Channels.newInputStream(channel), 1 << 16))
  private val output = new DataOutputStream(new BufferedOutputStream(Channels.newOutputStream(channel), 1 << 16))
  TaskContext.get().addTaskCompletionListener[Unit](context => end(!context.isFailed() && !context.isInterrupted()))
  orEnded(send(worker.command))

  /** Send a request, apply the changes in the reply, and return the rows in the reply. */
  def exchange(request: Array[Any], state: Changes): Iterator[Any] = orEnded {
    send(Pickled.dump(request))
    var answer = receive()
    while (answer(0) == "read") {
      apply(answer, state)
      send(Pickled.dump(state.read(answer(2).asInstanceOf[Array[Any]])))
      answer = receive()
    }
    if (answer(0) == "error") throw new SparkException(answer(1).toString)
    apply(answer, state)
    answer(2).asInstanceOf[Collection[Any]].asScala.iterator
  }

  private def orEnded[T](body: => T): T = try body catch {
    case error: IOException => throw new SparkException(
      "the Python process of this task has ended, so the query stops; look for its last lines in the log of this " +
        "executor, and restart the query, which repeats the row", error)
  }

  private def apply(answer: Array[Any], state: Changes): Unit =
    answer(1).asInstanceOf[Collection[Array[Any]]].forEach(state.change(_))

  private def send(message: Array[Byte]): Unit = {
    output.writeInt(message.length)
    output.write(message)
    output.flush()
  }

  private def receive(): Array[Any] = {
    val message = new Array[Byte](input.readInt())
    input.readFully(message)
    Pickled.load(message).asInstanceOf[Array[Any]]
  }

  /** Return a responsive process to the pool, and kill an unresponsive process. */
  private def end(isIdle: Boolean): Unit = {
    val isBack = isIdle && (try { send(Array()); receive()(0) == "end" } catch { case _: IOException => false })
    if (isBack) {
      channel.configureBlocking(false)
      SparkEnv.get.releasePythonWorker(executable, module, module, environment, process)
    } else SparkEnv.get.destroyPythonWorker(executable, module, module, environment, process)
  }
}

private[rtm] class FromPython(schema: StructType) {
  private val internal = EvaluatePython.makeFromJava(schema)
  private val external = CatalystTypeConverters.createToScalaConverter(schema)

  def apply(value: Any): Row = external(internal(value)).asInstanceOf[Row]
}

private[rtm] object Pickled {
  def dump(value: Any): Array[Byte] = new Pickler(false).dumps(value)

  def load(bytes: Array[Byte]): Any = new Unpickler().loads(bytes)

  /** Convert a row value to the format that PySpark's `StructType.fromInternal` accepts. */
  def python(value: Any): Any = value match {
    case row: Row => Array.tabulate[Any](row.length)(index => python(row.get(index)))
    case items: scala.collection.Map[_, _] =>
      val result = new JavaMap[Any, Any]()
      items.foreach { case (key, item) => result.put(python(key), python(item)) }
      result
    case items: scala.collection.Seq[_] => new JavaList(items.map(python).asJavaCollection)
    case time: java.sql.Timestamp => DateTimeUtils.fromJavaTimestamp(time)
    case time: Instant => DateTimeUtils.instantToMicros(time)
    case time: LocalDateTime => DateTimeUtils.localDateTimeToMicros(time)
    case day: java.sql.Date => DateTimeUtils.fromJavaDate(day)
    case day: LocalDate => DateTimeUtils.localDateToDays(day)
    case time: Duration => IntervalUtils.durationToMicros(time)
    case other => other
  }
}
