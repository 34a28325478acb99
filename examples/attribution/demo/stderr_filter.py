"""
Keep what PySpark tells of its Python workers out of the error stream.

What arrives is the error stream of the JVM; what leaves is the same stream without those lines, and the real one again
for this process.
Real-time mode has no part in it: the first worker of a query with a Python processor prints its life, schemas included,
and OSS 4.3.0 has no setting against it.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

CHATTER = b"Streaming TransformWithStateInPandas Python worker"
STDERR = 2


@contextmanager
def quiet_workers() -> Iterator[None]:
    """Filter the error stream of every process that is started in the block, as long as it lives."""
    own = os.dup(STDERR)
    out, into = os.pipe()
    threading.Thread(target=_copy, args=(out, os.dup(own)), daemon=True).start()
    os.dup2(into, STDERR)
    os.close(into)
    try:
        yield
    finally:
        os.dup2(own, STDERR)
        os.close(own)


def _copy(out: int, target: int) -> None:
    is_after_chatter = False
    with open(out, "rb") as lines, open(target, "wb", buffering=0) as kept:
        for line in lines:
            # Each of those lines is followed by an empty one.
            is_chatter = CHATTER in line or (is_after_chatter and not line.strip())
            if not is_chatter:
                kept.write(line)
            is_after_chatter = is_chatter and bool(line.strip())
