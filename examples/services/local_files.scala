package examples

import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/**
 * The local file system without a process per file. PySpark does not contain Hadoop's native library, and without that
 * library Hadoop starts `chmod` for every file that it creates. A checkpoint creates many files between two batches.
 */
class LocalFiles extends LocalFileSystem(new RawLocalFiles)

class RawLocalFiles extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = {
    val symbols = Seq(permission.getUserAction, permission.getGroupAction, permission.getOtherAction).map(_.SYMBOL)
    Files.setPosixFilePermissions(pathToFile(path).toPath, PosixFilePermissions.fromString(symbols.mkString))
  }
}
