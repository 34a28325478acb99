/* Processors for the tests of the page on state: timers, state with a TTL, event-time timers, initial state. */
package processors

import java.sql.Timestamp
import java.time.Duration

import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.streaming._

/** Sets a timer three seconds after each row; the row of the key `slow` takes longer. */
class Silence extends StatefulProcessor[String, String, String] {
  @transient private var seen: ValueState[Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    seen = getHandle.getValueState("seen", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(key: String, rows: Iterator[String], timers: TimerValues): Iterator[String] = {
    val inCall = rows.size
    seen.update((if (seen.exists()) seen.get() else 0L) + inCall)
    getHandle.listTimers().foreach(getHandle.deleteTimer(_))
    getHandle.registerTimer(timers.getCurrentProcessingTimeInMs() + 3000)
    if (key == "slow") Thread.sleep(4000)
    Iterator(s"$key ${seen.get()} $inCall")
  }

  override def handleExpiredTimer(key: String, timers: TimerValues, expired: ExpiredTimerInfo): Iterator[String] = {
    seen.clear()
    Iterator(s"$key silent")
  }
}

/** Counts the rows of a key in value, list and map state with a TTL. */
class Fading(ttlMs: Int) extends StatefulProcessor[String, String, String] {
  @transient private var value: ValueState[Long] = _
  @transient private var list: ListState[Long] = _
  @transient private var map: MapState[Long, Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    val ttl = TTLConfig(Duration.ofMillis(ttlMs))
    value = getHandle.getValueState("value", Encoders.scalaLong, ttl)
    list = getHandle.getListState("list", Encoders.scalaLong, ttl)
    map = getHandle.getMapState("map", Encoders.scalaLong, Encoders.scalaLong, ttl)
  }

  override def handleInputRows(key: String, rows: Iterator[String], timers: TimerValues): Iterator[String] =
    rows.map { _ =>
      value.update((if (value.exists()) value.get() else 0L) + 1)
      list.appendValue(0L)
      map.updateValue(map.keys().size.toLong, 0L)
      s"$key ${value.get()} ${list.get().size} ${map.keys().size}"
    }
}

/** Sets an event-time timer one minute after each row, and emits the watermark. */
class Overdue extends StatefulProcessor[String, (String, Timestamp), String] {
  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = ()

  override def handleInputRows(
      key: String, rows: Iterator[(String, Timestamp)], timers: TimerValues): Iterator[String] =
    rows.map { case (_, at) =>
      getHandle.registerTimer(at.getTime + 60000)
      s"$key ${timers.getCurrentWatermarkInMs()}"
    }

  override def handleExpiredTimer(key: String, timers: TimerValues, timer: ExpiredTimerInfo): Iterator[String] =
    Iterator(s"$key ${timers.getCurrentWatermarkInMs()} due ${timer.getExpiryTimeInMs()}")
}

/** Counts the rows of a key, starting from its initial state. */
class Continued extends StatefulProcessorWithInitialState[String, String, String, (String, Long)] {
  @transient private var count: ValueState[Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    count = getHandle.getValueState("count", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInitialState(key: String, initial: (String, Long), timers: TimerValues): Unit =
    count.update(initial._2)

  override def handleInputRows(key: String, rows: Iterator[String], timers: TimerValues): Iterator[String] =
    rows.map { _ =>
      count.update((if (count.exists()) count.get() else 0L) + 1)
      s"$key ${count.get()}"
    }
}

object Processors {
  private val text = Encoders.STRING

  def silence(keys: DataFrame): DataFrame =
    keys.as(text).groupByKey((key: String) => key)(text)
      .transformWithState(new Silence, TimeMode.ProcessingTime, OutputMode.Update)(text).toDF("value")

  def fading(keys: DataFrame, ttlMs: Int): DataFrame =
    keys.as(text).groupByKey((key: String) => key)(text)
      .transformWithState(new Fading(ttlMs), TimeMode.ProcessingTime, OutputMode.Update)(text).toDF("value")

  def overdue(rows: DataFrame): DataFrame =
    rows.as(Encoders.tuple(text, Encoders.TIMESTAMP)).groupByKey((row: (String, Timestamp)) => row._1)(text)
      .transformWithState(new Overdue, TimeMode.EventTime, OutputMode.Update)(text).toDF("value")

  def continued(keys: DataFrame, initial: DataFrame): DataFrame = {
    val pair = Encoders.tuple(text, Encoders.scalaLong)
    val numbers = initial.as(pair).groupByKey((row: (String, Long)) => row._1)(text)
    keys.as(text).groupByKey((key: String) => key)(text)
      .transformWithState(new Continued, TimeMode.None, OutputMode.Update, numbers)(text, pair).toDF("value")
  }
}
