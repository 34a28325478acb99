/* Write rows to Redis: SET for a row with a value, DEL for a row without. Repeats of a row change nothing. */
package alerts

import java.io._
import java.net.{InetSocketAddress, Socket}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.file.{Files, Path}
import java.util.ArrayList
import java.util.concurrent.{ArrayBlockingQueue, TimeUnit}

import scala.jdk.CollectionConverters._
import org.apache.spark.sql.{DataFrame, Encoders, ForeachWriter}
import org.apache.spark.sql.streaming.DataStreamWriter

case class Entry(key: String, value: Option[String])

/** A thread sends the rows that arrived during its last round trip as one pipeline, so no row waits for others. */
class ToRedis(host: String, port: Int, passwordFile: String, deadlineMs: Long) extends ForeachWriter[Entry] {
  @transient private var rows: ArrayBlockingQueue[Entry] = _
  @transient private var sender: Thread = _
  @transient @volatile private var failure: Throwable = _
  @transient private var connection: RedisConnection = _

  override def open(partition: Long, batch: Long): Boolean = {
    rows = new ArrayBlockingQueue(ToRedis.MaxWaiting)
    try connection = new RedisConnection(host, port, passwordFile)
    catch { case _: IOException => } // the sender tries again; a wrong password makes the task fail here
    sender = new Thread(() => try sendAll() catch { case error: Throwable => failure = error }, s"to-redis-$partition")
    sender.setDaemon(true)
    sender.start()
    true
  }

  override def process(row: Entry): Unit = {
    require(row.key != null, s"a row for Redis at $host:$port has no key and cannot be stored; filter such rows")
    put(row)
  }

  /** Return after Redis has confirmed each row, or throw. Spark commits the batch afterwards. */
  override def close(error: Throwable): Unit = if (sender != null) {
    if (error != null) sender.interrupt()
    else {
      put(ToRedis.End)
      sender.join()
      if (failure != null) throw failure
    }
  }

  private def put(row: Entry): Unit = {
    while (failure == null && !rows.offer(row, 100, TimeUnit.MILLISECONDS)) {}
    if (failure != null) throw failure
  }

  private def sendAll(): Unit = try {
    var isOpen = true
    while (isOpen) {
      val batch = new ArrayList[Entry]()
      batch.add(rows.take())
      rows.drainTo(batch, ToRedis.MaxPipeline)
      isOpen = !batch.contains(ToRedis.End)
      batch.remove(ToRedis.End)
      if (!batch.isEmpty) send(batch.asScala.toSeq)
    }
  } finally disconnect()

  private def send(batch: Seq[Entry]): Unit = {
    val giveUp = System.nanoTime() + deadlineMs * 1000000
    var (isSent, pauseMs) = (false, 50L)
    while (!isSent) try {
      if (connection == null) connection = new RedisConnection(host, port, passwordFile)
      connection.send(batch)
      isSent = true
    } catch {
      case error: IOException =>
        disconnect()
        if (System.nanoTime() > giveUp) throw new IllegalStateException(s"Redis at $host:$port did not store key " +
          s"'${batch.head.key}' for $deadlineMs ms (${error.getMessage}), so the query fails; restart it later", error)
        Thread.sleep(pauseMs)
        pauseMs = math.min(2 * pauseMs, 2000L)
    }
  }

  private def disconnect(): Unit = {
    if (connection != null) connection.close()
    connection = null
  }
}

/** Throws IOException for transient errors, and IllegalStateException for others. */
private class RedisConnection(host: String, port: Int, passwordFile: String) {
  private val socket = new Socket()
  socket.setTcpNoDelay(true)
  socket.setSoTimeout(ToRedis.ReplyTimeoutMs)
  socket.connect(new InetSocketAddress(host, port), ToRedis.ReplyTimeoutMs)
  private val out = new BufferedOutputStream(socket.getOutputStream, 1 << 16)
  private val in = new BufferedReader(new InputStreamReader(socket.getInputStream, ISO_8859_1))
  if (passwordFile.nonEmpty) {
    command("AUTH", Files.readString(Path.of(passwordFile)).trim)
    out.flush()
    check("the password", in.readLine())
  }

  def send(rows: Seq[Entry]): Unit = {
    rows.foreach(row => row.value.fold(command("DEL", row.key))(command("SET", row.key, _)))
    out.flush()
    rows.foreach(row => check(s"key '${row.key}'", in.readLine()))
  }

  def close(): Unit = socket.close()

  private def command(words: String*): Unit = {
    out.write(s"*${words.size}\r\n".getBytes(UTF_8))
    words.map(_.getBytes(UTF_8)).foreach { bytes =>
      out.write(s"$$${bytes.length}\r\n".getBytes(UTF_8))
      out.write(bytes ++ "\r\n".getBytes(UTF_8))
    }
  }

  private def check(what: String, reply: String): Unit = {
    if (reply == null) throw new EOFException("the connection was closed")
    if (reply.startsWith("-")) {
      val code = reply.drop(1).takeWhile(_ != ' ') // the rest can contain arguments of the command
      if (ToRedis.Transient.contains(code)) throw new IOException(code)
      close()
      throw new IllegalStateException(
        s"Redis at $host:$port refused $what with $code, and would refuse it again; correct the cause and restart")
    }
  }
}

object ToRedis {
  val End: Entry = Entry(null, None)
  val MaxWaiting = 5000
  val MaxPipeline = 500
  val ReplyTimeoutMs = 5000
  val Transient: Set[String] = Set("LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "OOM", "MISCONF")

  def of(rows: DataFrame, host: String, port: Int, passwordFile: String, deadlineMs: Long): DataStreamWriter[Entry] =
    rows.as(Encoders.product[Entry]).writeStream.foreach(new ToRedis(host, port, passwordFile, deadlineMs))
}
