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


@pytest.mark.timeout(200)
@pytest.mark.parametrize("implementation", ["spark_rtm.LocalFiles", ""], ids=["ours", "default"])
def test_only_the_default_file_system_of_hadoop_needs_chmod(tmp_path: Path, implementation: str) -> None:
    """Without its native library, Hadoop starts `chmod` for every file that it creates."""
    program, file = tmp_path / "touch.scala", tmp_path / "file"
    program.write_text(TOUCH)
    spark = Path(pyspark.__file__).parent / "jars" / "*"
    path = ":".join(map(str, (spark, compiled(LOCAL_FILES), compiled(program))))
    command = [str(java_home() / "bin" / "java"), "-cp", path, "Touch", str(file), *filter(None, [implementation])]
    environment = {"PATH": str(tmp_path)}

    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)

    assert (result.returncode != 0) == ('Cannot run program "chmod"' in result.stderr) == (not implementation)
    assert not implementation or "-rw-r--r--" == filemode(file.stat().st_mode)
