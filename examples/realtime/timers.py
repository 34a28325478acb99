"""
Keep the one timer of a key where it has to stand.

The time at which it stands and that at which it should stand arrive, in UTC milliseconds, 0 for none.
Real-time mode demands one timer per key: each row that only sets another one piles them up.
"""

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


def move_timer(handle: StatefulProcessorHandle, before_ms: int, next_ms: int, fired_ms: int = 0) -> None:
    """Delete the timer and register the next one if they differ; one that has fired is deleted by the engine."""
    if before_ms == fired_ms:
        before_ms = 0
    if before_ms == next_ms:
        return
    if before_ms:
        handle.deleteTimer(before_ms)
    if next_ms:
        handle.registerTimer(next_ms)
