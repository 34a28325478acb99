"""
Compile a Java source of this folder on the spot, against the client library that the broker carries.

A source file arrives, the folder of its classes leaves; what is compiled once is kept in the cache.
A sender that keeps time to a tenth of a millisecond on a busy machine is a Java thread, not a Python one.
"""

import os
import subprocess
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from examples.services import broker_jars, java_home
from examples.services.cache import cached_folder

SOURCES = Path(__file__).parent / "java"
OLDEST_JAVA = "17"


def compiled(source: Path, jars: Iterable[Path]) -> Path:
    """Return the folder with the classes of `source`; raises RuntimeError when Java has no compiler or refuses."""
    class_path = os.pathsep.join(map(str, jars))
    digest = sha256(source.read_bytes() + class_path.encode()).hexdigest()[:16]

    def fill(folder: Path) -> None:
        javac = java_home() / "bin" / "javac"
        if not javac.exists():
            raise RuntimeError(
                f"the Java in {java_home()} has no compiler, so {source.name} cannot be built and nothing "
                f"can be measured; install a JDK {OLDEST_JAVA} or newer (Debian: default-jdk-headless), or name one "
                "in JAVA_HOME"
            )
        command = [str(javac), "--release", OLDEST_JAVA, "-d", str(folder), "-cp", class_path, str(source)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode:
            raise RuntimeError(f"{source} does not compile; correct it:\n{answer.stderr}")

    return cached_folder(f"classes/{source.stem}-{digest}", fill)


def java_command(main_class: str, jars: Sequence[Path], options: Sequence[str], arguments: Iterable[str]) -> list[str]:
    """Return the command that runs a class of this folder with `jars`, quiet unless something is wrong."""
    classes = compiled(SOURCES / f"{main_class}.java", jars)
    class_path = os.pathsep.join(map(str, (classes, *jars)))
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return [str(java_home() / "bin" / "java"), *options, quiet, "-cp", class_path, main_class, *arguments]


def client_command(main_class: str, arguments: Iterable[str], options: Sequence[str] = ()) -> list[str]:
    """Return the command that runs a class of this folder with the broker's own client library."""
    return java_command(main_class, broker_jars(), options, arguments)
