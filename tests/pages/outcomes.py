"""
Run a construct in real-time mode and return its outcome as a cell of the pages' tables.

The outcome is `runs`, or the moment and the condition of the refusal. `start()` raises some refusals; others end the
query when it plans its first batch.
"""

import re
from collections.abc import Callable

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime.failures import SLOW_PYTHON, name_of
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import QueryFailedError, raise_if_failed
from tests.helpers import eventually
from tests.pages.operator_probe import LAST, OperatorProbe

DEADLINE_SECONDS = 60.0
MAX_STARTS = 3
FAMILY = "STREAMING_REAL_TIME_MODE."
NOT_ALLOWED = FAMILY + "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"
CLASSES = re.compile(r"The (?:operator|sink)\(s\): (.*?) (?:is|are) not in the (?:operator|sink) allowlist")


Observe = Callable[[OperatorProbe], str]
"""A function that observes the outcome of a row of a table."""


def writes(build: Callable[[OperatorProbe], DataFrame], *rows: str) -> Observe:
    """Observe a DataFrame whose query writes exactly these rows to Kafka, or, without rows, is refused."""
    return starts(lambda probe: probe.write(build(probe)).start(), *rows)


def starts(start: Callable[[OperatorProbe], StreamingQuery], *rows: str) -> Observe:
    """Observe a query, as `writes` does."""
    return lambda probe: outcome(start, probe, list(rows))


def together(*observes: Observe) -> Observe:
    """Observe several constructs with the same outcome."""
    return lambda probe: " or ".join(dict.fromkeys(observe(probe.with_empty_target()) for observe in observes))


def outcome(
    start: Callable[[OperatorProbe], StreamingQuery],
    probe: OperatorProbe,
    expected: list[str],
    starts: int = MAX_STARTS,
) -> str:
    """
    Start a query and return its outcome; it must write the `expected` rows long before the batch ends.

    On a busy machine, a Python worker can need longer than Spark allows; then the query restarts.
    """
    query = None
    try:
        query = running = start(probe)
        last = sum(text.startswith(LAST) for text in expected) or 1
        eventually(lambda: running.exception() or _ended(probe, last), DEADLINE_SECONDS, f"{expected} or a failure")
        raise_if_failed([running])
        assert_real_time(running)
        written = probe.texts()
        return "runs" if sorted(expected) == sorted(written) else f"runs and writes {written}"
    except QueryFailedError as error:
        if starts > 1 and SLOW_PYTHON in str(error):
            return outcome(start, probe, expected, starts - 1)
        return f"while running: {refusal(error.__cause__ or error)}"
    except (PySparkException, Py4JJavaError, TypeError) as error:
        return f"at start: {refusal(error)}"
    finally:
        if query:
            query.stop()


def refusal(error: BaseException) -> str:
    """Return the classes that are not in the allowlist, else the condition without its family, else the message."""
    name, message = name_of(error), str(error).partition("\n")[0]
    listed = CLASSES.search(message)
    if name == NOT_ALLOWED and listed:
        return "not in allowlist: " + ", ".join(f"`{part.rpartition('.')[2]}`" for part in listed[1].split(", "))
    return f'"{message}"' if name == StreamingQueryException.__name__ else f"`{name.removeprefix(FAMILY)}`"


def _ended(probe: OperatorProbe, last: int) -> bool:
    return sum(text.startswith(LAST) for text in probe.texts()) >= last
