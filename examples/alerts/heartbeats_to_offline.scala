/* Detect silent devices by their heartbeats. Rejected records pass through unchanged.
 * A due timer fires with the next row of its state partition or at the end of the batch. Ticks provide such rows. */
package alerts

import java.time.Duration
import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.streaming._

/** A rejected record has a `reason`, a heartbeat has the device time `beat_ts`, and a tick has neither. */
case class Arrival(
    device: String, beat_ts: Option[Long], appended_ts: Long,
    key: Array[Byte], value: Array[Byte], src: String, reason: String)
case class Change(
    alarm_id: String, device_id: String, status: String, last_seen_ts: Long, deadline_ts: Long, emitted_ts: Long)
case class Answer(change: Option[Change], key: Array[Byte], value: Array[Byte], src: String, reason: String)
/** The newest heartbeat of a device by the device's clock; `raised` is true after its alarm was emitted. */
case class Seen(beat_ts: Long, appended_ts: Long, read_ts: Long, src: String, raised: Boolean)

class HeartbeatsToOffline(silenceMs: Int, readingMs: Int, forgetMs: Int)
    extends StatefulProcessor[String, Arrival, Answer] {
  @transient private var seen: ValueState[Seen] = _
  @transient private var startedTs: Long = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    // This TTL is only a safety net, because the timer for `forgotten` clears the state long before this TTL ends.
    seen = getHandle.getValueState("seen", Encoders.product[Seen], TTLConfig(Duration.ofMillis(2L * forgetMs)))
    startedTs = System.currentTimeMillis()
  }

  override def handleInputRows(device: String, rows: Iterator[Arrival], timers: TimerValues): Iterator[Answer] =
    rows.toSeq.sortBy(_.appended_ts).iterator.flatMap { row =>
      if (row.reason != null) Seq(Answer(None, row.key, row.value, row.src, row.reason))
      else row.beat_ts.toSeq.flatMap(heard(device, row, _, timers.getCurrentProcessingTimeInMs()))
    }

  private def heard(device: String, row: Arrival, beat: Long, now: Long): Seq[Answer] = {
    val before = Option.when(seen.exists())(seen.get())
    if (before.exists(beat <= _.beat_ts)) Nil // a repeat, or a heartbeat that arrived after a newer one
    else {
      val next = Seen(beat, row.appended_ts, now, row.src, raised = false)
      seen.update(next)
      before.filter(_.raised).foreach(last => getHandle.deleteTimer(last.appended_ts + forgetMs))
      if (before.forall(_.raised)) getHandle.registerTimer(dueTs(next))
      // After a restart, a replayed silence ends before its timer is due. It must produce the same two changes again.
      val silence = before.toSeq.filter(last => last.raised || row.appended_ts > last.appended_ts + silenceMs)
      silence.filterNot(_.raised).map(last => change(device, "offline", last, last, now)) ++
        silence.map(last => change(device, "online", last, next, now))
    }
  }

  override def handleExpiredTimer(device: String, timers: TimerValues, timer: ExpiredTimerInfo): Iterator[Answer] =
    Option.when(seen.exists())(seen.get()).iterator.flatMap { last =>
      val now = timers.getCurrentProcessingTimeInMs()
      if (last.raised) {
        seen.clear()
        Some(change(device, "forgotten", last, last, now))
      } else if (now < dueTs(last)) { // One timer per second is cheaper than two writes for each newer heartbeat.
        getHandle.registerTimer(dueTs(last))
        None
      } else {
        seen.update(last.copy(raised = true))
        getHandle.registerTimer(last.appended_ts + forgetMs)
        Some(change(device, "offline", last, last, now))
      }
    }

  /** Excludes the time that a record waited in the topic while no task read the topic; this time is not silence. */
  private def dueTs(last: Seen): Long = math.max(last.read_ts, startedTs) + silenceMs + readingMs

  private def change(device: String, status: String, silent: Seen, cause: Seen, now: Long): Answer =
    Answer(Some(Change(s"$device/${silent.appended_ts}", device, status, cause.appended_ts,
      silent.appended_ts + silenceMs, now)), null, null, cause.src, null)
}

object HeartbeatsToOffline {
  def of(arrivals: DataFrame, silenceMs: Int, readingMs: Int, forgetMs: Int): DataFrame =
    arrivals.as(Encoders.product[Arrival]).groupByKey(_.device)(Encoders.STRING).transformWithState(
      new HeartbeatsToOffline(silenceMs, readingMs, forgetMs), TimeMode.ProcessingTime, OutputMode.Update
    )(Encoders.product[Answer]).toDF()
}
