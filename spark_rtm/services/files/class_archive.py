"""
Let a JVM load its classes from an archive, which halves the processor time of its start.

`python -m spark_rtm.services archives` records the archives, and `make setup` runs this command. Without an archive for
its Java and jars, a JVM starts normally.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from spark_rtm.services.cache import refuse_foreign_writers

ARCHIVE = "classes.jsa"
# Otherwise, a JVM that cannot use its archive would write a warning to the standard output of the program.
NO_WARNINGS = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def archive_folder(cache: Path, kind: str, java_home: Path, jars: Iterable[Path]) -> Path:
    """Return the archive folder for one kind of JVM, one Java and one set of jars."""
    release = java_home / "release"
    parts = [str(java_home), release.read_text() if release.is_file() else ""]
    for jar in jars:
        status = jar.stat()
        parts.append(f"{jar} {status.st_size} {status.st_mtime_ns}")
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return cache / "archives" / f"{kind}-{digest}"


def using(folder: Path) -> list[str]:
    """Return JVM options that load classes from the archive in `folder`, if it exists."""
    archive = folder / ARCHIVE
    if not archive.is_file():
        return []
    refuse_foreign_writers((folder.parent.parent, folder.parent, folder))
    return [f"-XX:SharedArchiveFile={archive}", *NO_WARNINGS]


def recording(folder: Path) -> list[str]:
    """Return JVM options that write an archive of all loaded classes to `folder` at the end."""
    return [f"-XX:ArchiveClassesAtExit={folder / ARCHIVE}", *NO_WARNINGS]


def require(folder: Path) -> None:
    """Raise a `RuntimeError` if the recording JVM wrote no archive to `folder`."""
    if not (folder / ARCHIVE).is_file():
        raise RuntimeError(
            "a JVM wrote no archive of its classes, so JVMs would keep starting slowly; run "
            "`python -m spark_rtm.services archives` again when the machine has more processor time and free disk space"
        )
