"""Spark writes its files without a process for each of them."""

import subprocess
from pathlib import Path
from stat import filemode

import pyspark
import pytest

from examples.realtime.slots import LOCAL_FILES
from examples.services import java_home
from examples.services.scala import compiled

TOUCH = """
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

object Touch {
  def main(arguments: Array[String]): Unit = {
    val settings = new Configuration
    arguments.lift(1).foreach(settings.set("fs.file.impl", _))
    FileSystem.get(new java.net.URI("file:///"), settings).create(new Path(arguments.head)).close()
  }
}
"""


def _touch(folder: Path, file: Path, *implementation: str) -> subprocess.CompletedProcess[str]:
    """Create a file through Hadoop where no program can be found on the path."""
    program = folder / "touch.scala"
    program.write_text(TOUCH)
    spark = Path(pyspark.__file__).parent / "jars" / "*"
    path = ":".join(map(str, (spark, compiled(LOCAL_FILES), compiled(program))))
    command = [str(java_home() / "bin" / "java"), "-cp", path, "Touch", str(file), *implementation]
    environment = {"PATH": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)


@pytest.mark.timeout(200)
def test_a_file_of_a_checkpoint_needs_no_other_program(tmp_path: Path) -> None:
    """So the pause between two batches holds no start of a process; the file gets the permissions it would get."""
    file = tmp_path / "file"

    done = _touch(tmp_path, file, "examples.LocalFiles")

    assert 0 == done.returncode, done.stderr
    assert "-rw-r--r--" == filemode(file.stat().st_mode)


@pytest.mark.timeout(200)
def test_a_file_of_hadoop_as_it_is_needs_chmod(tmp_path: Path) -> None:
    """Without its native library it starts a program for every file."""
    done = _touch(tmp_path, tmp_path / "file")

    assert 0 != done.returncode
    assert 'Cannot run program "chmod"' in done.stderr
