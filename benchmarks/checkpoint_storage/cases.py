"""The storages and checkpoint file managers that the benchmark compares."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.checkpoint_storage.s3_server import ObjectStore
from spark_rtm.services.spark import CHECKPOINT_FILE_MANAGER

DEFAULT_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
LOCAL, SHARED, OBJECTS = "local disk", "shared folder", "object store"


@dataclass(frozen=True)
class Case:
    """A folder or URL for checkpoints, and the class that writes files there."""

    storage: str
    """What the folder is, for example `local disk`."""
    root: str
    manager: str

    @property
    def manager_name(self) -> str:
        """Return the class without its package."""
        return self.manager.rpartition(".")[2]

    def new_checkpoint_dir(self) -> str:
        """Return the path of a checkpoint folder that no run has used."""
        return f"{self.root}/run-{uuid.uuid4().hex[:8]}"


def cases(local: Path, shared: Path, store: ObjectStore) -> Iterator[Case]:
    """Yield each storage with the file managers that are worth a comparison."""
    yield Case(LOCAL, local.as_uri(), CHECKPOINT_FILE_MANAGER)
    yield Case(LOCAL, local.as_uri(), DEFAULT_MANAGER)
    yield Case(f"{SHARED} ({file_system_of(shared)})", shared.as_uri(), CHECKPOINT_FILE_MANAGER)
    yield Case(OBJECTS, store.url, CHECKPOINT_FILE_MANAGER)
    yield Case(OBJECTS, store.url, DEFAULT_MANAGER)


def file_system_of(folder: Path) -> str:
    """Return the type of the file system that contains a folder, for example `nfs4`."""
    mounts = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    return next(mounts[parent] for parent in (folder.resolve(), *folder.resolve().parents) if parent in mounts)
