"""A local TCP proxy that delays, changes or drops data, which a loopback connection never does."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

MAX_CHUNK_BYTES = 1_000_000
CONNECT_SECONDS = 5

Change = Callable[[bytes], bytes | None]


def unchanged(chunk: bytes) -> bytes:
    """Return the chunk unchanged."""
    return chunk


class TcpProxy:
    """
    A proxy on 127.0.0.1 to `target`, as a context manager.

    The function `answer` takes each chunk that the server sends, and returns the chunk for the client, b"" to drop the
    chunk, or None to close the connection. The function `request` handles the client's chunks in the same way, and may
    block to delay a chunk. Callers may replace `answer`, `request` and `delay_seconds` at any time.
    """

    def __init__(self, target: tuple[str, int], delay_seconds: float = 0) -> None:
        """Create a proxy that delays data by `delay_seconds` in each direction."""
        self.answer: Change = unchanged
        self.request: Change = unchanged
        self.delay_seconds = delay_seconds
        self._target = target
        self._sockets: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> "TcpProxy":
        _start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for open_socket in (self._listener, *self._sockets):
            _shut(open_socket)
            open_socket.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                _start(self._connect, client)

    def _connect(self, client: socket.socket) -> None:
        """Forward data between a client and the server until one of them disconnects, then close both connections."""
        try:
            server = socket.create_connection(self._target, CONNECT_SECONDS)
        except OSError:
            client.close()
            return
        ends = {client, server}
        self._sockets |= ends
        for end in ends:
            end.settimeout(None)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = _start(self._forward, server, client, lambda: self.answer)
        self._forward(client, server, lambda: self.request)
        answers.join()
        for end in ends:
            end.close()
        self._sockets -= ends

    def _forward(self, source: socket.socket, target: socket.socket, change: Callable[[], Change]) -> None:
        with suppress(OSError):
            # Data that arrives during the delay of a chunk becomes the next chunk.
            while chunk := source.recv(MAX_CHUNK_BYTES):
                changed = change()(chunk)
                if changed is None:
                    break
                time.sleep(self.delay_seconds)
                target.sendall(changed)
        _shut(source)
        _shut(target)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def _start(action: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=action, args=arguments, daemon=True)
    thread.start()
    return thread
