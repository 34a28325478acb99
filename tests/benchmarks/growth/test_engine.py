"""A short real run of a point: the state is filled, and each query counts every record once."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.growth.engine import FIRST_QUERY, fill, start
from benchmarks.growth.points import Point
from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.run import Case, run_case
from benchmarks.results.run_result import Traffic
from benchmarks.spark.queries import SparkOptions
from spark_rtm.realtime.queries import stop_completely, wait_until
from tests.benchmarks.helpers import assert_all_answered
from tests.helpers import end_offset

POINT = Point(keys=50, state_keys=200, record_bytes=300, queries=2)
TRAFFIC = Traffic(rate=500, warm_up_seconds=1, duration_seconds=1, drain_seconds=60)
DEADLINE_SECONDS = 60.0


@contextmanager
def point_here(spark: SparkSession, found: dict[str, int], run: Run) -> Iterator[Engine]:
    options = SparkOptions("real-time", interval_seconds=2, copies=POINT.queries)
    fill(spark, POINT, options, run)
    queries = start(spark, POINT, options, run)
    try:
        yield Engine(())
        # The measured query has written all its results; the other query ends its batch a moment later.
        wait_until(lambda: all(_written(run, query) for query in queries), DEADLINE_SECONDS, "both queries", queries)
        for query in queries:
            progress = query.lastProgress
            found[str(query.name)] = progress.stateOperators[0].numRowsTotal if progress else 0
    finally:
        stop_completely(spark, *queries)


def _written(run: Run, query: StreamingQuery) -> bool:
    topic = run.target if query.name == FIRST_QUERY else run.middle
    written = sum(end_offset(run.bootstrap_servers, topic, partition) for partition in range(run.partitions))
    return bool(query.lastProgress) and written >= TRAFFIC.records


@pytest.mark.services
def test_queries_count_every_record_above_a_filled_state(kafka: str, spark: SparkSession) -> None:
    found = dict[str, int]()
    case = Case("point", "counts", partial(point_here, spark, found), shape=POINT.shape)

    result = run_case(kafka, case, TRAFFIC)

    assert_all_answered(result)
    assert (1.0, 500) == (result.numbers["outputs_per_record"], result.numbers["records"])
    assert {"copy_0": POINT.state_keys, "copy_1": POINT.state_keys} == found
