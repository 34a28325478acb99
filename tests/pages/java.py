"""Compile the Java code of a page."""

import subprocess
import zipfile
from pathlib import Path

import pyspark

from examples.services.java import java_home


def compiled_java(code: str, main_class: str, folder: Path) -> Path:
    """Return a jar of one class, compiled against Spark's jars; raise AssertionError with the compiler's messages."""
    source, classes, jar = folder / f"{main_class}.java", folder / "classes", folder / f"{main_class}.jar"
    source.write_text(code)
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    command = [str(java_home() / "bin/javac"), "--release", "17", "-cp", str(jars), "-d", str(classes), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert 0 == done.returncode, done.stderr
    with zipfile.ZipFile(jar, "w") as archive:
        for file in classes.rglob("*.class"):
            archive.write(file, file.relative_to(classes))
    return jar
