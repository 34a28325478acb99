"""
Try a construct in real-time mode and say what became of it, in the words of the pages' tables.

A function that starts a query arrives; a cell leaves: `runs`, or the moment of the refusal and its name.
Real-time mode demands both moments: some refusals come from the call, others only when the query plans its first batch.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from examples.realtime.slots import QueryFailedError, assert_real_time, raise_if_failed
from tests.helpers import eventually
from tests.pages.bench import LAST, Bench
from tests.pages.running import name_of

DEADLINE_SECONDS = 60.0
FAMILY = "STREAMING_REAL_TIME_MODE."
NOT_ALLOWED = FAMILY + "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"
CLASSES = re.compile(r"The (?:operator|sink)\(s\): (.*?) (?:is|are) not in the (?:operator|sink) allowlist")


@dataclass(frozen=True)
class Case:
    """A row of a table: its first cell, the cell of OSS 4.3.0, and how to find out what that cell must be."""

    what: str
    cell: str
    observe: Callable[[Bench], str]


def runs(what: str, build: Callable[[Bench], DataFrame], *rows: str) -> Case:
    """Return the case of a stream that writes exactly these rows to Kafka."""
    return writes(what, lambda bench: bench.write(build(bench)).start(), *rows)


def writes(what: str, start: Callable[[Bench], StreamingQuery], *rows: str) -> Case:
    """Return the case of a query that writes exactly these rows."""
    return Case(what, "runs", lambda bench: outcome(start, bench, list(rows)))


def fails(what: str, cell: str, build: Callable[[Bench], DataFrame]) -> Case:
    """Return the case of a stream to Kafka that is refused."""
    return refused(what, cell, lambda bench: bench.write(build(bench)).start())


def refused(what: str, cell: str, start: Callable[[Bench], StreamingQuery]) -> Case:
    """Return the case of a query that is refused."""
    return Case(what, cell, lambda bench: outcome(start, bench, []))


def together(*cases: Case) -> Case:
    """Return one row for cases of the same outcome."""

    def observe(bench: Bench) -> str:
        return " or ".join(dict.fromkeys(case.observe(bench.with_empty_target()) for case in cases))

    return Case("; ".join(case.what for case in cases), cases[0].cell, observe)


def outcome(start: Callable[[Bench], StreamingQuery], bench: Bench, expected: list[str]) -> str:
    """Start a query and say what became of it; `expected` must be written, long before the batch ends."""
    query = None
    try:
        query = running = start(bench)
        last = sum(text.startswith(LAST) for text in expected) or 1
        eventually(lambda: running.exception() or _ended(bench, last), DEADLINE_SECONDS, f"{expected} or a failure")
        raise_if_failed([running])
        assert_real_time(running)
        written = bench.texts()
        return "runs" if sorted(expected) == sorted(written) else f"runs and writes {written}"
    except QueryFailedError as error:
        return f"later: {refusal(error.__cause__ or error)}"
    except (PySparkException, Py4JJavaError, TypeError) as error:
        return f"at start: {refusal(error)}"
    finally:
        if query:
            query.stop()


def refusal(error: BaseException) -> str:
    """Return the classes that are not in the allowlist, or the name without its family, or else the message."""
    name, message = name_of(error), str(error).partition("\n")[0]
    listed = CLASSES.search(message)
    if name == NOT_ALLOWED and listed:
        return "not allowed: " + ", ".join(f"`{part.rpartition('.')[2]}`" for part in listed[1].split(", "))
    return f'"{message}"' if name == StreamingQueryException.__name__ else f"`{name.removeprefix(FAMILY)}`"


def _ended(bench: Bench, last: int) -> bool:
    return sum(text.startswith(LAST) for text in bench.texts()) >= last
