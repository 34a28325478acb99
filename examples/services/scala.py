"""
Compile a Scala file by the compiler among PySpark's jars, and make its classes known to a session.

A path arrives; a jar in the cache, and classes on the driver and all executors, leave.
Real-time mode of OSS refuses Python processors, so a job with state of its own needs some Scala, and no build tool.
"""

import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from examples.services.cache import cached_folder
from examples.services.java import java_home

COMPILE_SECONDS = 300


def compiled(source: Path) -> Path:
    """
    Return the jar of a Scala file; it is compiled once for each content and version of Spark.

    Raises RuntimeError with the compiler's messages, which begin with file and line.
    """
    digest = sha256(source.read_bytes() + pyspark.__version__.encode()).hexdigest()[:16]
    # Executors know a jar by its name and would keep the old one, so the content is part of it.
    name = f"{source.stem}-{digest}"
    return cached_folder(f"scala/{name}", lambda folder: _compile(source, folder / f"{name}.jar")) / f"{name}.jar"


def scala_object(spark: SparkSession, source: Path, name: str) -> Any:
    """Return a Scala object such as `alerts.HeartbeatsToOffline`, whose methods take and give Java's objects."""
    spark.sql(f"ADD JAR '{compiled(source)}'")
    found: Any = spark._jvm  # noqa: SLF001 - classes of a jar have no Python form
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _compile(source: Path, jar: Path) -> None:
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    command = [str(java_home() / "bin" / "java"), "-cp", str(jars), "scala.tools.nsc.Main", "-usejavacp"]
    command += ["-d", str(jar), str(source)]
    compiler = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMPILE_SECONDS)
    if compiler.returncode:
        raise RuntimeError(
            f"{str(source)!r} does not compile, so what is in it cannot run; correct it:\n"
            f"{(compiler.stdout + compiler.stderr).strip()}"
        )
