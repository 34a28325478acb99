"""
Keep one timer per key in a stateful processor.

A processor that registers a timer with every row, without deleting the one before, accumulates timers.
"""

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


def move_timer(handle: StatefulProcessorHandle, before_ms: int, next_ms: int, fired_ms: int = 0) -> None:
    """
    Replace the timer of the current key: `before_ms` is its registered time, `next_ms` the new one.

    Times are epoch milliseconds; 0 means none. The engine itself deletes a timer that has fired, at `fired_ms`.
    """
    if before_ms == fired_ms:
        before_ms = 0
    if before_ms == next_ms:
        return
    if before_ms:
        handle.deleteTimer(before_ms)
    if next_ms:
        handle.registerTimer(next_ms)
