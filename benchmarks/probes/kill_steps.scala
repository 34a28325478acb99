package kill_steps

import java.io.File
import java.net.URI
import java.nio.file.Files.readString

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/**
 * The local file system under the scheme `steps`, which ends its JVM at a chosen step.
 *
 * If the file `fs.steps.order` exists, the first JVM whose step matches the pattern in it deletes the file and ends. A
 * step is `before` or `after`, an operation (`rename` or `delete`) and the path.
 */
class StepFiles extends RawLocalFileSystem {
  private var order: File = _

  override def initialize(uri: URI, conf: Configuration): Unit = {
    super.initialize(uri, conf)
    order = new File(conf.get("fs.steps.order"))
  }
  override def getScheme: String = "steps"
  override def getUri: URI = URI.create("steps:///")
  // Without its native library, Hadoop starts a process here.
  override def setPermission(path: Path, permission: FsPermission): Unit = ()
  override def rename(from: Path, to: Path): Boolean = step("rename", to)(super.rename(from, to))
  override def delete(path: Path, recursive: Boolean): Boolean = step("delete", path)(super.delete(path, recursive))

  private def step(operation: String, path: Path)(run: => Boolean): Boolean = {
    end(s"before $operation ${path.toUri.getPath}")
    val done = run
    end(s"after $operation ${path.toUri.getPath}")
    done
  }

  // Another JVM may have deleted the file in between.
  private def end(step: String): Unit =
    if (order.exists && (try step.matches(readString(order.toPath).trim) catch { case _: java.io.IOException => false }) && order.delete())
      Runtime.getRuntime.halt(137)
}
