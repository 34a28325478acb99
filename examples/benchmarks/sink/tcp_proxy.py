"""
Stand between a client and a server on this machine, and make the network slower or less reliable.

What arrives are bytes of TCP connections; what leaves are the same bytes, later, or not at all.
A real-time sink is judged by round trips and by answers that never come, and a loopback address has neither.
"""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

CHUNK_BYTES = 65_536
CONNECT_SECONDS = 5

Change = Callable[[bytes], bytes | None]


def unchanged(chunk: bytes) -> bytes:
    """Return `chunk`."""
    return chunk


class TcpProxy:
    """
    A listener on 127.0.0.1 whose connections lead to `target`, as a context manager.

    `answer` may be replaced at any time: it gets every chunk that the server sends, and returns what the client shall
    see, b"" for nothing, None for the end of the connection.
    """

    def __init__(self, target: tuple[str, int], delay_s: float = 0) -> None:
        """Delay both directions by `delay_s` each."""
        self.answer: Change = unchanged
        self._target, self._delay_s = target, delay_s
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> "TcpProxy":
        """Accept connections."""
        _start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        """End all connections."""
        for one in (self._listener, *self._sockets):
            _shut(one)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                try:
                    server = socket.create_connection(self._target, CONNECT_SECONDS)
                except OSError:
                    client.close()
                    continue
                self._sockets.append(server)
                for one in (client, server):
                    one.settimeout(None)
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _start(self._pass_on, client, server, lambda: unchanged)
                _start(self._pass_on, server, client, lambda: self.answer)

    def _pass_on(self, source: socket.socket, target: socket.socket, change: Callable[[], Change]) -> None:
        line: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
        _start(_deliver, line, target)
        with suppress(OSError):
            while chunk := source.recv(CHUNK_BYTES):
                changed = change()(chunk)
                if changed is None:
                    break
                if changed:
                    line.put((time.monotonic() + self._delay_s, changed))
        line.put((time.monotonic() + self._delay_s, b""))
        _shut(source)


def _deliver(line: "SimpleQueue[tuple[float, bytes]]", target: socket.socket) -> None:
    with suppress(OSError):
        while True:
            due, chunk = line.get()
            # The delay is what this proxy is for.
            time.sleep(max(0, due - time.monotonic()))
            if not chunk:
                break
            target.sendall(chunk)
    _shut(target)


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


def _start(work: Callable[..., None], *arguments: object) -> None:
    threading.Thread(target=work, args=arguments, daemon=True).start()
