"""The rule in SQL returns the same results as the rule in Python for generated histories in any order of arrival."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from examples.attribution.correlation.rule import HISTORY, Event, Result, correlate
from examples.attribution.correlation.sql import ATTRIBUTED, changes_of, results_of
from examples.attribution.correlation.windows import Windows
from examples.attribution.schemas import EVENTS
from tests.attribution.correlation.histories import (
    CLICK,
    IMPRESSION,
    LIMITED,
    REQUEST,
    WINDOWS,
    Results,
    T,
    changes,
    drawn,
    histories,
    history_row,
)

pytestmark = pytest.mark.spark

ROWS = StructType(
    [
        StructField("id", LongType()),
        StructField("prefix", LongType()),
        StructField("history", ArrayType(StructType([EVENTS[name] for name in HISTORY]))),
    ]
)
HISTORIES = 200
ALL_CODES = {
    *("accepted", "duplicate_request", "duplicate_event", "filled", "pending", "matched", "matched_late_request"),
    *("duplicate_impression", "late_impression", "orphan_impression", "invalid_slot", "partial_quartiles"),
    *("late_click", "orphan_click", "repeat_click", "late_step", "orphan_step", "repeat_step"),
}
"""Every result code except those of timeouts."""


@cache
def generated() -> list[list[Event]]:
    return drawn(histories(), HISTORIES)


def evaluated(
    spark: SparkSession, many: list[list[Event]], windows: Windows
) -> dict[tuple[int, int], tuple[Results, Results]]:
    rows = [(n, length, history_row(h[:length])) for n, h in enumerate(many) for length in range(1, len(h) + 1)]
    history = F.col("history")
    first = F.slice(history, 1, windows.max_events)
    frame = spark.createDataFrame(rows, ROWS).select(
        "id",
        "prefix",
        results_of(history, windows).alias("results"),
        changes_of(first, F.element_at(history, -1), F.size(history), windows).alias("changes"),
    )
    assert ATTRIBUTED.names == frame.schema["results"].dataType.elementType.names  # type: ignore[attr-defined]
    return {(row.id, row.prefix): (by_id(row.results), by_id(row.changes)) for row in frame.collect()}


def by_id(rows: list[Any]) -> Results:
    results = {row.result_id: Result(**row.asDict()) for row in rows}
    assert len(rows) == len(results)
    return results


def differences(
    many: list[list[Event]], sql_results: dict[tuple[int, int], tuple[Results, Results]], windows: Windows
) -> list[str]:
    """
    Return the differences between the results of SQL and of the Python rule.

    Both are compared for each prefix of a history: all its results, and the results that its last event changes.
    """
    problems = []
    for n, history in enumerate(many):
        for length in range(1, len(history) + 1):
            results, changed = sql_results[n, length]
            read = history[:length]
            if results != {result.result_id: result for result in correlate(read, windows)}:
                problems.append(f"all results: {read}")
            by_rule = {result.result_id: result for result in changes(read, windows)}
            if changed != by_rule and not has_counted_copies([event.src for event in read], windows):
                problems.append(f"changes: {read}")
    return problems


def has_counted_copies(sources: list[str], windows: Windows) -> bool:
    """Return whether state limited to `max_events` counts a copy as an event, or does not recognize the last copy."""
    limit = windows.max_events
    return len(sources) > limit and (len({*sources[:limit]}) < limit or sources[-1] in sources[limit:-1])


def repeats(kind: str) -> list[Event]:
    return [REQUEST, IMPRESSION, *(replace(CLICK, kind=kind, event_id=n, src=f"src:0:{n}") for n in "12")]


def rare() -> list[list[Event]]:
    """
    Return short histories with the codes that few generated histories have.

    Hypothesis also draws constants from other modules, so generated histories may lack rare codes.
    """
    second = replace(IMPRESSION, event_id="j", src="src:0:j", impression_id="y")
    late_ms = WINDOWS.impression_to_click_ms + 1
    late = replace(CLICK, effective_ts=T + late_ms, server_ts=T + late_ms, appended_at=T + late_ms)
    return [
        repeats("click"),
        repeats("start"),
        [REQUEST, IMPRESSION, second],
        [REQUEST, IMPRESSION, late],
        [REQUEST, IMPRESSION, replace(late, kind="start")],
        [REQUEST, IMPRESSION, replace(CLICK, kind="complete")],
        [REQUEST, replace(REQUEST, event_id="r2", src="src:0:r2")],
        [replace(REQUEST, server_ts=T + 1), IMPRESSION],
    ]


@pytest.mark.parametrize(
    ("windows", "codes"),
    [
        pytest.param(WINDOWS, ALL_CODES, id="below-the-maximum-number"),
        pytest.param(LIMITED, ALL_CODES | {"too_many_events"}, id="above-the-maximum-number"),
    ],
)
def test_sql_equals_rule_for_histories_and_their_prefixes(
    spark: SparkSession, windows: Windows, codes: set[str]
) -> None:
    # All histories run in one Spark job, because planning takes seconds.
    many = [*generated(), *rare()]

    sql_results = evaluated(spark, many, windows)

    assert [] == differences(many, sql_results, windows)
    assert codes == {result.code for results, _ in sql_results.values() for result in results.values()}
    # The comparison can fail: a rule with a window that is one millisecond longer differs.
    longer = replace(windows, request_to_impression_ms=windows.request_to_impression_ms + 1)
    assert [] != differences(many, sql_results, longer)


def test_sql_has_no_match_recognize(spark: SparkSession) -> None:
    query = "select * from range(1) match_recognize (order by id measures a.id as x pattern (a) define a as id > 0)"

    with pytest.raises(ParseException, match="PARSE_SYNTAX_ERROR"):
        spark.sql(query)
