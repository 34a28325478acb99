import contextlib
import json
import socket
import threading
from pathlib import Path

from tests.hostile.case import INPUT, Build, Case, file

GOOD = {"ok": True, "text": "q: done"}
MEGABYTE = 1_000_000
ANSWERS: dict[str, bytes] = {
    "bytes": bytes(range(256)),
    "null": b"null\n",
    "number": b"1e999\n",
    "numbers": b"[1]\n",
    "other types": b'[{"ok": [], "text": {}}]\n',
    "half letter": b'[{"ok": true, "text": "\\ud800"}]\n',
    "control letters": json.dumps([{"ok": False, "text": "\x1b]0;pwned\x07\x1b[2J\r\x9b good"}]).encode() + b"\n",
    "nested": b"[" * 200_000 + b"\n",
    "long number": b"9" * 10_000 + b"\n",
    "endless": b"x" * 30 * MEGABYTE,
    "long text": json.dumps([GOOD | {"text": "x" * 5 * MEGABYTE}]).encode() + b"\n",
    "many": json.dumps([GOOD] * 100_000).encode() + b"\n",
}


def _answering(answer: bytes) -> Build:
    """Return a job that answers one command with arbitrary bytes."""

    def build(folder: Path) -> None:
        server = socket.socket(socket.AF_UNIX)
        with contextlib.chdir(folder / INPUT):
            server.bind("s")
        server.listen()

        def run() -> None:
            with server, contextlib.suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    connection.recv(10_000)
                    connection.sendall(answer)

        threading.Thread(target=run, daemon=True).start()

    return build


NAMES = ["a" * 300, "../" * 500, "/dev/stdin", "\udcff", "\x1b[2J", "", "a\udcff\x1b[2J" * 9]
CASES = [
    *[Case(f"drain answer {name}", ["drain", "s"], _answering(answer)) for name, answer in ANSWERS.items()],
    *[
        Case(f"{command} path {name[:20]!r}", [command, name], file("x", ""), frozenset({2}))
        for command in ("commit", "stop")
        for name in NAMES
    ],
]
