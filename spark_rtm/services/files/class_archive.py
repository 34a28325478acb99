"""
Load the classes of a JVM from an archive, which halves the CPU time of its start.

`python -m spark_rtm.services archives` records the archives, and `make setup` runs this command. Without an archive for
its Java and jars, a JVM starts normally.
"""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

from spark_rtm.services.cache import cache_root, cached_folder, refuse_foreign_writers
from spark_rtm.services.java import java_home

ARCHIVE = "classes.jsa"
# Otherwise, a JVM that cannot use its archive would write a warning to the standard output of the program.
NO_WARNINGS = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def archive(kind: str, jars: Iterable[Path]) -> Path:
    """Return the path of the archive for one kind of JVM, the Java of this machine and one set of jars."""
    home = java_home()
    release = home / "release"
    parts = [str(home), release.read_text() if release.is_file() else ""]
    for jar in jars:
        status = jar.stat()
        parts.append(f"{jar} {status.st_size} {status.st_mtime_ns}")
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return cache_root() / "archives" / f"{kind}-{digest}" / ARCHIVE


def using(path: Path) -> list[str]:
    """Return JVM options that load classes from an archive, if it exists."""
    if not path.is_file():
        return []
    refuse_foreign_writers(path.parents[:3])
    return [f"-XX:SharedArchiveFile={path}", *NO_WARNINGS]


def record(path: Path, run: Callable[[list[str]], object]) -> Path:
    """Return the folder of an archive. On the first call, `run` starts a JVM that writes its classes when it exits."""

    def fill(folder: Path) -> None:
        run([f"-XX:ArchiveClassesAtExit={folder / ARCHIVE}", *NO_WARNINGS])
        if not (folder / ARCHIVE).is_file():
            raise RuntimeError(
                "a JVM wrote no archive of its classes, so JVMs would keep starting slowly; run `python -m "
                "spark_rtm.services archives` again when the machine has more processor time and free disk space"
            )

    return cached_folder(f"archives/{path.parent.name}", fill)
