"""Keep one timer per key in a stateful processor, instead of adding a timer for each row."""

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


def move_timer(handle: StatefulProcessorHandle, before_ms: int, next_ms: int, fired_ms: int = 0) -> None:
    """
    Replace the current key's timer for `before_ms` with a timer for `next_ms`.

    Times are epoch milliseconds. 0 means no timer. The engine itself deletes a timer that has just fired at `fired_ms`.
    """
    if before_ms == fired_ms:
        before_ms = 0
    if before_ms == next_ms:
        return
    if before_ms:
        handle.deleteTimer(before_ms)
    if next_ms:
        handle.registerTimer(next_ms)
