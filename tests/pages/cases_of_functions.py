"""
Cases for the table of functions: each query writes what a batch query returns for the same rows.

An expression that fails for one row makes the query fail, and each restart reads that row again.
"""

import re
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tests.helpers import eventually, new_topic
from tests.pages.operator_probe import (
    DEADLINE_SECONDS,
    INPUT,
    LAST,
    Observe,
    OperatorProbe,
    as_texts,
    cells_of_page,
    together,
    writes,
)

CLOCKS = ("current_timestamp()", "reflect('java.lang.System', 'nanoTime')")


def _select(expression: str) -> Observe:
    return writes(lambda probe: probe.rows().selectExpr(expression))


def _expressions(*expressions: str) -> Observe:
    """Observe all expressions in one query or, if a batch query fails, each one in a query of its own."""

    def observe(probe: OperatorProbe) -> str:
        rows = probe.spark.createDataFrame(INPUT, "k string, n int")
        try:
            expected = [row.value for row in as_texts(rows.selectExpr("k", *expressions)).collect()]
        except (PySparkException, Py4JJavaError):
            return together(*map(_select, expressions))(probe)
        return writes(lambda b: b.rows().selectExpr("k", *expressions), *expected)(probe)

    return observe


def _clock(expression: str) -> Observe:
    def observe(probe: OperatorProbe) -> str:
        empty = replace(probe, topic=new_topic(probe.kafka, 1))
        query = empty.write(empty.rows().selectExpr(expression)).start()
        for sent in range(1, 4):
            empty.send(LAST, sent)
            eventually(lambda: len(empty.texts()) == sent, DEADLINE_SECONDS, "one output row for each row sent")  # noqa: B023
        query.stop()
        distinct = len(set(empty.texts()))
        return {1: "runs, one value per batch", 3: "runs, a new value for each row"}.get(distinct, f"{empty.texts()}")

    return observe


_ROWS = {what: re.findall("`(.+?)`", what) for title, what in cells_of_page() if title == "Functions"}
FUNCTIONS = {
    what: _clock(*expressions) if expressions[0] in CLOCKS else _expressions(*expressions)
    for what, expressions in _ROWS.items()
}
