"""
Compile a Scala file with PySpark's bundled compiler, and load its classes into a session.

Real-time mode of OSS 4.3.0 rejects Python processors, so a job with custom state needs Scala. No build tool is
required.
"""

import os
import subprocess
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyspark
from pyspark.sql import SparkSession

from spark_rtm.services.folders import cached_folder
from spark_rtm.services.java import java_home

# Under spark-submit, which sets SPARK_HOME, the pyspark module is in an archive without jars.
SPARK_HOME = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).resolve().parent)
COMPILE_TIMEOUT_SECONDS = 300
REGISTER = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"


def compiled(source: Path, *others: Path, data_source: str = "", libraries: Sequence[Path] = ()) -> Path:
    """
    Return the jar compiled from Scala files, built once per content and Spark version.

    `data_source` is a class to register with Spark under a short name, as in `format("rtm-kafka")`. `libraries` are
    jars that the files use in addition to Spark's jars. Raises RuntimeError with the compiler messages, which start
    with file and line.
    """
    digest = sha256(
        b"".join(path.read_bytes() for path in (source, *others)) + pyspark.__version__.encode()
    ).hexdigest()[:16]
    # Executors cache jars by name, so the name contains a digest of the file's content.
    name = f"{source.stem}-{digest}"

    def fill(folder: Path) -> None:
        jar, sources = folder / f"{name}.jar", [str(path) for path in (source, *others)]
        command = [str(java_home() / "bin" / "java"), "-cp", str(SPARK_HOME / "jars" / "*"), "scala.tools.nsc.Main"]
        command += ["-usejavacp", "-cp", os.pathsep.join(map(str, libraries)), "-d", str(jar), *sources]
        compiler = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMPILE_TIMEOUT_SECONDS)
        if compiler.returncode:
            errors = (compiler.stdout + compiler.stderr).strip()
            raise RuntimeError(f"{', '.join(sources)} does not compile; correct these errors:\n{errors}")
        if data_source:
            with ZipFile(jar, "a") as archive:
                archive.writestr(REGISTER, data_source)

    return cached_folder(f"scala/{name}", fill) / f"{name}.jar"


def scala_object(spark: SparkSession, source: Path, name: str) -> Any:
    """Return a Scala object such as `alerts.HeartbeatsToOffline`, whose methods take and return Java objects."""
    path = str(compiled(source)).replace("\\", r"\\").replace("'", r"\'")
    spark.sql(f"ADD JAR '{path}'")
    member: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for classes of a jar
    for part in name.split("."):
        member = getattr(member, part)
    return member
