"""The SQL form of the rule equals the plain Python form for generated histories in any order of arrival."""

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from examples.attribution.correlation.rule import HISTORY, Event, Result, correlate
from examples.attribution.correlation.sql import changes_of, results_of
from examples.attribution.schemas import ATTRIBUTED, EVENTS
from examples.attribution.settings import Windows
from tests.attribution.correlation.histories import WINDOWS, drawn, histories, history_row

pytestmark = pytest.mark.spark

ROWS = StructType(
    [
        StructField("id", LongType()),
        StructField("prefix", LongType()),
        StructField("history", ArrayType(StructType([EVENTS[name] for name in HISTORY]))),
    ]
)
HISTORIES = 500
ALL_CODES = {
    *("accepted", "duplicate_request", "duplicate_event", "filled", "pending", "matched", "matched_late_request"),
    *("duplicate_impression", "late_impression", "orphan_impression", "invalid_slot", "partial_quartiles"),
    *("late_click", "orphan_click", "repeat_click", "late_step", "orphan_step", "repeat_step"),
}
"""Every code except those of timeouts."""

Results = dict[str, Result]


def evaluated(spark: SparkSession, many: list[list[Event]]) -> dict[tuple[int, int], tuple[Results, Results]]:
    """Return all results and the changes of every prefix of every history, by history and length of prefix."""
    rows = [(n, length, history_row(h[:length])) for n, h in enumerate(many) for length in range(1, len(h) + 1)]
    frame = spark.createDataFrame(rows, ROWS).select(
        "id",
        "prefix",
        results_of(F.col("history"), WINDOWS).alias("results"),
        changes_of(F.col("history"), WINDOWS).alias("changes"),
    )
    assert ATTRIBUTED.names == frame.schema["results"].dataType.elementType.names  # type: ignore[attr-defined]
    return {(row.id, row.prefix): (by_id(row.results), by_id(row.changes)) for row in frame.collect()}


def by_id(rows: list[Any]) -> Results:
    """Return rows as results by id; ids must be unique."""
    results = {row.result_id: Result(**row.asDict()) for row in rows}
    assert len(rows) == len(results)
    return results


def differences(
    many: list[list[Event]], sql_results: dict[tuple[int, int], tuple[Results, Results]], windows: Windows = WINDOWS
) -> list[str]:
    """Compare with the plain rule: all results of each prefix, and the changes of its last event."""
    problems = []
    for n, history in enumerate(many):
        folded: Results = {}
        for length in range(1, len(history) + 1):
            results, changes = sql_results[n, length]
            expected = {result.result_id: result for result in correlate(history[:length], windows)}
            before = {k: replace(v, version=0) for k, v in folded.items()}
            changed = {k: v for k, v in expected.items() if before.get(k) != replace(v, version=0)}
            folded |= changes
            if results != expected:
                problems.append(f"all results: {history[:length]}")
            if changes != changed:
                problems.append(f"changes: {history[:length]}")
    return problems


def test_sql_equals_rule_for_histories_and_their_prefixes(spark: SparkSession) -> None:
    """The SQL form returns the results of the rule, and as changes exactly the results that an event changed."""
    # All histories run in one Spark job, because planning takes seconds.
    many = drawn(histories(), HISTORIES)

    sql_results = evaluated(spark, many)

    assert [] == differences(many, sql_results)
    codes = {result.code for results, _ in sql_results.values() for result in results.values()}
    assert ALL_CODES == codes
    # The comparison can fail: a rule with a window that is one millisecond longer differs.
    longer = replace(WINDOWS, request_to_impression_ms=WINDOWS.request_to_impression_ms + 1)
    assert [] != differences(many, sql_results, longer)
