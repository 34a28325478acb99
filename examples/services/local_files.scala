package examples

import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/**
 * The local disk without a process per file: where Hadoop's native library is missing, as in PySpark's package, Hadoop
 * runs `chmod` for every file that it creates, and a checkpoint creates many between two batches.
 */
class LocalFiles extends LocalFileSystem(new RawLocalFiles)

class RawLocalFiles extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = {
    val symbols = Seq(permission.getUserAction, permission.getGroupAction, permission.getOtherAction).map(_.SYMBOL)
    Files.setPosixFilePermissions(pathToFile(path).toPath, PosixFilePermissions.fromString(symbols.mkString))
  }
}
