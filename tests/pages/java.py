import subprocess
import zipfile
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark

from spark_rtm.services.cache import cached_folder
from spark_rtm.services.java import java_home


def compiled_java(code: str, main_class: str) -> Path:
    """
    Return a jar of one class, compiled against Spark's jars; raise AssertionError with the compiler's messages.

    As with `spark_rtm.services.scala`, each text is compiled once per version of Spark.
    """
    digest = sha256(code.encode() + pyspark.__version__.encode()).hexdigest()[:16]
    name = f"{main_class}-{digest}"

    def fill(folder: Path) -> None:
        with TemporaryDirectory() as temporary:
            _compile(code, main_class, Path(temporary), folder / f"{name}.jar")

    return cached_folder(f"classes/{name}", fill) / f"{name}.jar"


def _compile(code: str, main_class: str, folder: Path, jar: Path) -> None:
    source, classes = folder / f"{main_class}.java", folder / "classes"
    source.write_text(code)
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    command = [str(java_home() / "bin/javac"), "--release", "17", "-cp", str(jars), "-d", str(classes), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert 0 == done.returncode, done.stderr
    with zipfile.ZipFile(jar, "w") as archive:
        for file in classes.rglob("*.class"):
            archive.write(file, file.relative_to(classes))
