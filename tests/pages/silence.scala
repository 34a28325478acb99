package state

import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.streaming._

class Silence extends StatefulProcessor[String, String, String] {
  @transient private var seen: ValueState[Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    seen = getHandle.getValueState("seen", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(key: String, rows: Iterator[String], timers: TimerValues): Iterator[String] = {
    val inCall = rows.size
    seen.update((if (seen.exists()) seen.get() else 0L) + inCall)
    getHandle.listTimers().foreach(getHandle.deleteTimer(_))
    getHandle.registerTimer(timers.getCurrentProcessingTimeInMs() + 1000)
    Iterator(s"$key ${seen.get()} $inCall")
  }

  override def handleExpiredTimer(key: String, timers: TimerValues, expired: ExpiredTimerInfo): Iterator[String] = {
    seen.clear()
    Iterator(s"$key silent")
  }
}

object Silence {
  def of(keys: DataFrame): DataFrame =
    keys.as(Encoders.STRING).groupByKey((key: String) => key)(Encoders.STRING)
      .transformWithState(new Silence, TimeMode.ProcessingTime, OutputMode.Update)(Encoders.STRING).toDF("value")
}
