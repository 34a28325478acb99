"""
Compile the Java programs in `java/` on demand, and cache the classes.

The load generator must send each record within 0.1 ms of its due time, even on a busy machine. Java threads achieve
this, but Python threads do not.
"""

import os
import subprocess
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from spark_rtm.services import broker_jars, java_home, jvm_folder
from spark_rtm.services.cache import cached_folder
from spark_rtm.services.kafka import archive_options

SOURCES_DIR = Path(__file__).parent / "java"
MIN_JAVA = "17"


def compiled(source: Path, jars: Iterable[Path]) -> Path:
    """Return the folder with the compiled `source`. Raise RuntimeError if the compiler is missing or fails."""
    class_path = os.pathsep.join(map(str, jars))
    digest = sha256(source.read_bytes() + class_path.encode()).hexdigest()[:16]

    def fill(folder: Path) -> None:
        javac = java_home() / "bin" / "javac"
        if not javac.exists():
            raise RuntimeError(
                f"the Java in {java_home()} has no compiler, so {source.name} cannot be compiled and nothing can be "
                f"measured; install JDK {MIN_JAVA} or newer (Debian: default-jdk-headless), or set JAVA_HOME to a JDK"
            )
        command = [str(javac), "--release", MIN_JAVA, "-d", str(folder), "-cp", class_path, str(source)]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        if finished.returncode:
            raise RuntimeError(f"{str(source)!r} does not compile; correct these errors:\n{finished.stderr}")

    return cached_folder(f"classes/{source.stem}-{digest}", fill)


def java_command(main_class: str, jars: Sequence[Path], options: Sequence[str], arguments: Iterable[str]) -> list[str]:
    """Return the command that runs a Java program with `jars`. The program logs only warnings and errors."""
    classes = compiled(SOURCES_DIR / f"{main_class}.java", jars)
    # A client loads classes from the archive of the broker, so its class path must begin like the broker's.
    class_path = os.pathsep.join(map(str, (*jars, classes)))
    settings = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", f"-Djava.io.tmpdir={jvm_folder()}")
    return [str(java_home() / "bin" / "java"), *options, *settings, "-cp", class_path, main_class, *arguments]


def client_command(main_class: str, arguments: Iterable[str], options: Sequence[str] = ()) -> list[str]:
    """Return the command that runs a Java program with the broker's client library."""
    return java_command(main_class, broker_jars(), [*archive_options(), *options], arguments)
