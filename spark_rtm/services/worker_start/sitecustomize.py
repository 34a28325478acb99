# ruff: noqa: INP001 - a folder on the Python workers' path, not a package
"""
Connect a driver-side Python worker to Spark before the worker imports PySpark.

Python runs this module when it starts, if `PYTHONPATH` contains this folder. In OSS 4.3.0, a driver-side worker must
connect within ten seconds, and no setting changes this limit. PySpark's worker connects only after its imports, which
can take longer on a busy machine. Workers that a daemon forks always connect before their imports.
"""

import contextlib
import importlib.machinery
import importlib.util
import os
import socket
import struct
import sys
from typing import Any

FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - another import would delay the connection


def connect_early(port: int, secret: str) -> None:
    """Connect and authenticate, and make `pyspark.worker_util` use this connection."""
    host = "::1" if os.environ.get("SPARK_PREFER_IPV6", "").lower() == "true" else "127.0.0.1"
    connection = socket.create_connection((host, port))
    stream = connection.makefile("rwb", int(os.environ.get("SPARK_BUFFER_SIZE", "65536")))
    stream.write(struct.pack("!i", len(secret)) + secret.encode())
    stream.flush()
    (length,) = struct.unpack("!i", stream.read(4))
    if stream.read(length) != b"ok":
        raise ConnectionRefusedError(f"Spark did not accept the secret of this worker on port {port}")

    from pyspark import util, worker_util  # noqa: PLC0415 - these imports are the slow ones

    def connect(conn_info: str | int | None, auth_secret: str | None) -> tuple[Any, ...]:
        early = conn_info == port
        return (stream, connection) if early else util.local_connect_and_auth(conn_info, auth_secret)

    worker_util.local_connect_and_auth = connect  # type: ignore[attr-defined]


def run_hidden() -> None:
    """Run the `sitecustomize` module that this module shadows, for example from a Linux distribution."""
    folders = [folder for folder in sys.path if os.path.abspath(folder) != FOLDER]  # noqa: PTH100 - as above
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", folders)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


# Spark sets this variable only for workers that open the connection themselves.
if "PYTHON_WORKER_FACTORY_PORT" in os.environ:
    # A worker's child programs inherit the variable. Spark no longer listens then, and they need no connection.
    with contextlib.suppress(ConnectionError):
        connect_early(int(os.environ["PYTHON_WORKER_FACTORY_PORT"]), os.environ["PYTHON_WORKER_FACTORY_SECRET"])
run_hidden()
