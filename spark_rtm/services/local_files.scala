package spark_rtm

import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/**
 * A local file system that starts no process per file. Without its native library, which PySpark does not contain,
 * Hadoop starts a `chmod` process for each new file. Checkpoints create many files between two batches.
 */
class LocalFiles extends LocalFileSystem(new RawLocalFiles)

class RawLocalFiles extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = {
    val symbols = Seq(permission.getUserAction, permission.getGroupAction, permission.getOtherAction).map(_.SYMBOL)
    Files.setPosixFilePermissions(pathToFile(path).toPath, PosixFilePermissions.fromString(symbols.mkString))
  }
}
