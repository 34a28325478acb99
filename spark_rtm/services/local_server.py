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

    The data and address survive `stop` and `kill` for a later `start`. `remove` deletes the data.
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
        """Start the server and wait until it responds. Raise RuntimeError with the end of its log if it does not."""

    def stop(self) -> None:
        """Shut the server down cleanly. Do nothing if it is not running."""
        if self.child:
            self.child.stop()

    def kill(self) -> None:
        """End the server like `kill -9`. Do nothing if it is not running."""
        if self.child:
            self.child.kill()

    def remove(self) -> None:
        """Stop the server and delete its data."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


ServerT = TypeVar("ServerT", bound=LocalServer)


@contextmanager
def running(server: ServerT) -> Iterator[ServerT]:
    """Start a server, yield it, and remove it at the end of the block or after a failed start."""
    try:
        server.start()
        yield server
    finally:
        server.remove()
