"""Start a local server with its own data folder, and remove the server and its data when a `with` block ends."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, TypeVar

from spark_rtm.services.child import Child


@dataclass
class LocalServer(ABC):
    """
    A server on 127.0.0.1 whose data is in `folder`.

    `stop` and `kill` keep the data and the address, so a later `start` uses both again. `remove` deletes the data.
    """

    folder: Path
    child: Child | None = field(default=None, init=False, repr=False)
    log_name: ClassVar[str]

    @property
    def log_path(self) -> Path:
        """Path of the server's output."""
        return self.folder / self.log_name

    @abstractmethod
    def start(self) -> None:
        """Wait until the server accepts connections; if it does not, raise RuntimeError with the end of its log."""

    def stop(self) -> None:
        """Shut the server down cleanly; do nothing if it is not running."""
        if self.child:
            self.child.stop()

    def kill(self) -> None:
        """End the server like `kill -9`; do nothing if it is not running."""
        if self.child:
            self.child.kill()

    def remove(self) -> None:
        """Stop the server and delete its data."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


ServerT = TypeVar("ServerT", bound=LocalServer)


@contextmanager
def running(server: ServerT) -> Iterator[ServerT]:
    """Start a server and yield it; remove the server when the block ends or the start fails."""
    try:
        server.start()
        yield server
    finally:
        server.remove()
