"""
Verify downloaded jars: their names and SHA-256 checksums must equal the committed ones.

Each Ivy file has a checksum file beside it, in the format of `sha256sum`. After a change of an Ivy file, run `python -m
spark_rtm.services checksums IVY_FILE > CHECKSUMS_FILE`, and compare with the checksums that the repository publishes.
"""

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def checksum_lines(folder: Path) -> str:
    """Return the checksums of the jars in a folder, one per line."""
    return "".join(f"{checksum}  {name}\n" for name, checksum in _checksums(folder).items())


def read_checksums(path: Path) -> dict[str, str]:
    """Return the committed checksums by jar name. Raise FileNotFoundError if there are none."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {name: checksum for checksum, name in lines}


def verify_jars(folder: Path, expected: dict[str, str]) -> None:
    """Raise RuntimeError if a jar is missing, unknown or different."""
    found = _checksums(folder)
    wrong = sorted(name for name in found | expected if found.get(name) != expected.get(name))
    if wrong:
        raise RuntimeError(
            f"the jars in {str(folder)!r} are not the tested ones, so they are not used (missing, unknown or "
            f"different: {', '.join(wrong)}); delete the folder to download them again; if it recurs, check the mirror"
        )


def refuse_foreign_writers(folders: Iterable[Path]) -> None:
    """Raise RuntimeError if another user can write to a folder and so replace a verified jar."""
    for folder in folders:
        status = folder.stat()
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & WRITABLE_BY_OTHERS:
            raise RuntimeError(
                f"other users can write to {str(folder)!r}, so its jars are not used; run `chmod go-w` on the folder "
                "if it is yours, or set RTM_CACHE to a folder of your own"
            )


def _checksums(folder: Path) -> dict[str, str]:
    return {jar.name: _sha256(jar) for jar in sorted(folder.glob("*.jar"))}


def _sha256(jar: Path) -> str:
    with jar.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
