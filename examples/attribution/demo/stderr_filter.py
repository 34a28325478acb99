"""
Remove the log lines of PySpark's Python workers from stderr.

The first worker of a query with a Python processor logs its steps, including all schemas. OSS 4.3.0 has no setting that
prevents these log lines.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

WORKER_LOG = b"Streaming TransformWithStateInPandas Python worker"
STDERR = 2


@contextmanager
def filter_worker_logs(*others: bytes) -> Iterator[None]:
    """
    Filter the stderr of every process started in the block until that process ends.

    `others` are parts of further log lines to remove.
    """
    original = os.dup(STDERR)
    read_end, write_end = os.pipe()
    threading.Thread(target=_copy, args=(read_end, os.dup(original), (WORKER_LOG, *others)), daemon=True).start()
    os.dup2(write_end, STDERR)
    os.close(write_end)
    try:
        yield
    finally:
        os.dup2(original, STDERR)
        os.close(original)


def _copy(source: int, target: int, logs: tuple[bytes, ...]) -> None:
    is_after_log = False
    with open(source, "rb") as lines, open(target, "wb", buffering=0) as kept:
        for line in lines:
            # An empty line follows each of these log lines.
            is_log = any(log in line for log in logs) or (is_after_log and not line.strip())
            if not is_log:
                kept.write(line)
            is_after_log = is_log and bool(line.strip())
