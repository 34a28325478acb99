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

SETTINGS = "<configuration><property><name>fs.file.impl</name><value>{}</value></property></configuration>"


@pytest.mark.parametrize("implementation", ["spark_rtm.LocalFiles", "org.apache.hadoop.fs.LocalFileSystem"])
def test_only_the_default_file_system_of_hadoop_needs_chmod(tmp_path: Path, implementation: str) -> None:
    """Without its native library, Hadoop starts `chmod` for every file that it creates."""
    file = tmp_path / "file"
    (tmp_path / "core-site.xml").write_text(SETTINGS.format(implementation))
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    command = [str(java_home() / "bin" / "java"), "-cp", f"{tmp_path}:{jars}:{compiled(LOCAL_FILES)}"]
    command += ["org.apache.hadoop.fs.FsShell", "-touchz", f"file:{file}"]

    environment = {"PATH": str(tmp_path)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)

    is_default = implementation != "spark_rtm.LocalFiles"
    assert (result.returncode != 0) == ('Cannot run program "chmod"' in result.stderr) == is_default, result.stderr
    assert is_default or "-rw-r--r--" == filemode(file.stat().st_mode)
