/* Count the rows of each key, with one timer per key. */
package counted

import java.time.Duration
import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.streaming._

case class Arrival(key: String, number: Option[Long], appended_ts: Option[Long], _tick: Option[Boolean])
case class Result(key: String, number: Option[Long], count: Long, appended_ts: Long)
case class Stored(count: Long, due_ts: Long)

class Counted(silenceMs: Long, ttlMs: Long) extends StatefulProcessor[String, Arrival, Result] {
  @transient private var stored: ValueState[Stored] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    stored = getHandle.getValueState("stored", Encoders.product[Stored], TTLConfig(Duration.ofMillis(ttlMs)))

  override def handleInputRows(key: String, rows: Iterator[Arrival], timers: TimerValues): Iterator[Result] =
    rows.filter(_._tick.isEmpty).map { row =>
      val before = if (stored.exists()) stored.get() else Stored(0, 0)
      val due = if (before.due_ts > 0) before.due_ts else timers.getCurrentProcessingTimeInMs() + silenceMs
      if (before.due_ts == 0) getHandle.registerTimer(due)
      stored.update(Stored(before.count + 1, due))
      Result(key, row.number, before.count + 1, row.appended_ts.get)
    }

  override def handleExpiredTimer(key: String, timers: TimerValues, timer: ExpiredTimerInfo): Iterator[Result] = {
    val count = stored.get().count
    stored.update(Stored(count, 0))
    Iterator(Result(key, None, count, timer.getExpiryTimeInMs()))
  }
}

object Counted {
  def of(rows: DataFrame, silenceMs: Long, ttlMs: Long): DataFrame =
    rows.as(Encoders.product[Arrival]).groupByKey(_.key)(Encoders.STRING)
      .transformWithState(new Counted(silenceMs, ttlMs), TimeMode.ProcessingTime, OutputMode.Update)(Encoders.product[Result])
      .toDF()
}
