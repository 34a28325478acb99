/* Match each request with its acknowledgements, which may arrive first. `matcher.py` has the same processor in Python. */
package acknowledgements

import java.time.Duration
import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.streaming._
import scala.util.{Failure, Success, Try}

/** A request or acknowledgement. A tick has no `kind`. */
case class Arrival(transaction_id: String, kind: String, id: String, key: Array[Byte], value: Array[Byte])
/** The output of a key: a pair, an unanswered request, an orphaned acknowledgement, or a rejected record. */
case class Result(transaction_id: String, request_id: String, ack_id: String, status: String,
    key: Array[Byte] = null, value: Array[Byte] = null, reason: String = null)
case class Request(id: String, answered: Boolean)

class Matcher(waitMs: Long) extends StatefulProcessor[String, Arrival, Result] {
  @transient private var request: ValueState[Request] = _
  @transient private var waiting: ListState[String] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    // The timer clears the state. The TTL removes what would be left if the timer were lost.
    val ttl = TTLConfig(Duration.ofMillis(2 * waitMs))
    request = getHandle.getValueState("request", Encoders.product[Request], ttl)
    waiting = getHandle.getListState("waiting", Encoders.STRING, ttl)
  }

  override def handleInputRows(key: String, rows: Iterator[Arrival], timers: TimerValues): Iterator[Result] =
    rows.filter(_.kind != null).flatMap { row =>
      // An exception would end the query, and a restart would read the same row again. `Try` contains only code that
      // does not use state: an error of the state store must end the query.
      Try(Matcher.checkedId(row)) match {
        case Failure(error) => Seq(Result(null, null, null, "rejected", row.key, row.value, error.toString))
        case Success(id) =>
          // One timer per key: only the first row sets it, and `handleExpiredTimer` clears all state of the key.
          if (!request.exists() && !waiting.exists())
            getHandle.registerTimer(timers.getCurrentProcessingTimeInMs() + waitMs)
          if (row.kind == "requests") requested(key, id) else acknowledged(key, id)
      }
    }

  private def requested(key: String, id: String): Seq[Result] =
    if (request.exists()) Nil // a repeat
    else {
      val early = waiting.get().toSeq
      waiting.clear()
      request.update(Request(id, early.nonEmpty))
      early.map(pair(key, id, _))
    }

  private def acknowledged(key: String, id: String): Seq[Result] =
    if (request.exists()) {
      val found = request.get()
      request.update(found.copy(answered = true))
      Seq(pair(key, found.id, id))
    } else {
      waiting.appendValue(id)
      Nil
    }

  override def handleExpiredTimer(key: String, timers: TimerValues, timer: ExpiredTimerInfo): Iterator[Result] = {
    val unanswered = Option.when(request.exists())(request.get()).filterNot(_.answered)
      .map(found => Result(key, found.id, null, "unanswered"))
    val orphans = waiting.get().map(Result(key, null, _, "orphan")).toSeq
    request.clear()
    waiting.clear()
    unanswered.iterator ++ orphans
  }

  private def pair(key: String, requestId: String, ackId: String): Result =
    Result(key, requestId, ackId, "matched")
}

object Matcher {
  /** Return the id of the record. Throw an exception if the record has none. */
  def checkedId(row: Arrival): String = {
    require(row.transaction_id.nonEmpty, "no transaction_id of 1 to 100 characters")
    require(row.id != null && row.id.nonEmpty && row.id.length <= 100, "no id of 1 to 100 characters")
    row.id
  }

  def of(arrivals: DataFrame, waitMs: Long): DataFrame =
    arrivals.as(Encoders.product[Arrival]).groupByKey(_.transaction_id)(Encoders.STRING)
      .transformWithState(new Matcher(waitMs), TimeMode.ProcessingTime, OutputMode.Append)(Encoders.product[Result])
      .toDF()
}
