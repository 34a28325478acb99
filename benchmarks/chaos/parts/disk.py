"""A small, separate file system for the checkpoints, so that a fault can fill the disk."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNS = 0x00020000
SIZE = "size=1g"
MAX_TRIES = 20


def own_mounts() -> bool:
    """
    Give this process its own mount namespace, and return whether this succeeded. Only root on Linux can do this.

    Call this function before the process starts threads or children, so that they inherit the mounts. The kernel
    removes the mounts when the last of these processes exits, so no mount remains after kill -9.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
        return False
    return _mount("--make-rprivate", "/")


@contextmanager
def mounted(folder: Path) -> Iterator[None]:
    """Mount an in-memory file system at `folder` while the block runs. Raise RuntimeError if the mount fails."""
    if not _mount("-t", "tmpfs", "-o", SIZE, "tmpfs", str(folder)):
        raise RuntimeError(
            f"cannot mount a tmpfs at {str(folder)!r}, so the run cannot fill a disk; omit fill-disk from --faults"
        )
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Shrink the file system to the size of its content while the block runs, so that writes fail with ENOSPC."""
    try:
        for _ in range(MAX_TRIES):
            used = os.statvfs(folder)
            size = (used.f_blocks - used.f_bfree) * used.f_frsize
            # The kernel rejects a size below the used space, which may have grown in the meantime.
            if _mount("-o", f"remount,size={size}", str(folder)):
                break
        else:
            raise RuntimeError(
                f"cannot shrink the file system at {str(folder)!r}, so no disk was filled; omit fill-disk from --faults"
            )
        yield
    finally:
        _mount("-o", f"remount,{SIZE}", str(folder))


def _mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], stderr=subprocess.DEVNULL, check=False).returncode == 0
