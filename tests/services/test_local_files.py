"""Spark creates local files without starting a process for each of them."""

import subprocess
from pathlib import Path
from stat import filemode

import pyspark
import pytest

from spark_rtm.services import java_home
from spark_rtm.services.scala import compiled
from spark_rtm.services.spark import LOCAL_FILES

pytestmark = pytest.mark.spark

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
    program = folder / "touch.scala"
    program.write_text(TOUCH)
    spark = Path(pyspark.__file__).parent / "jars" / "*"
    path = ":".join(map(str, (spark, compiled(LOCAL_FILES), compiled(program))))
    command = [str(java_home() / "bin" / "java"), "-cp", path, "Touch", str(file), *implementation]
    environment = {"PATH": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)


@pytest.mark.timeout(200)
def test_checkpoint_file_is_created_without_a_process(tmp_path: Path) -> None:
    file = tmp_path / "file"

    result = _touch(tmp_path, file, "spark_rtm.LocalFiles")

    assert 0 == result.returncode, result.stderr
    assert "-rw-r--r--" == filemode(file.stat().st_mode)


@pytest.mark.timeout(200)
def test_default_file_system_of_hadoop_needs_chmod(tmp_path: Path) -> None:
    """Without its native library, Hadoop starts `chmod` for every file that it creates."""
    result = _touch(tmp_path, tmp_path / "file")

    assert 0 != result.returncode
    assert 'Cannot run program "chmod"' in result.stderr
