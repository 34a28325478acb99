"""
Encrypt the connections to a PostgreSQL server, as a pooler or load balancer does.

The PostgreSQL server of the tests is built without TLS. The clients do not notice: they negotiate TLS with the proxy in
PostgreSQL's protocol, and everything else with the real server.
"""

import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SSL_REQUEST = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")
CHUNK_BYTES = 65_536


@contextmanager
def tls_proxy(server: tuple[str, int], key: Path, certificate: Path) -> Iterator[int]:
    """Yield the port of a proxy that accepts only encrypted connections and forwards them to `server`."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if self.request.recv(len(SSL_REQUEST), socket.MSG_WAITALL) != SSL_REQUEST:
                return
            self.request.sendall(b"S")
            # A client that refuses the certificate ends the handshake.
            with (
                suppress(ssl.SSLError, OSError),
                context.wrap_socket(self.request, server_side=True) as client,
                socket.create_connection(server) as end,
            ):
                _forward_both(client, end)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield proxy.server_address[1]
        proxy.shutdown()


def _forward_both(client: socket.socket, server: socket.socket) -> None:
    back = threading.Thread(target=_forward, args=(server, client), daemon=True)
    back.start()
    _forward(client, server)
    back.join()


def _forward(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
