from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.realtime.queries import wait_until
from tests.pages.cases_of_functions import FUNCTIONS
from tests.pages.cases_of_operators import JOINS, PYTHON, STATEFUL, STATELESS
from tests.pages.cases_of_options import OPTIONS
from tests.pages.cases_of_sources import SINKS, SOURCES
from tests.pages.operator_probe import INPUT, Observe, cells_of_page, create_input, in_real_time, open_probe

TABLES = {
    "Sources": SOURCES,
    "Sinks and output modes": SINKS,
    "Operators without state": STATELESS,
    "Joins": JOINS,
    "Operators with state": STATEFUL,
    "Python code in a query": PYTHON,
    "Functions": FUNCTIONS,
    "Options and settings": OPTIONS,
}
CASES = [(title, what, observe) for title, cases in TABLES.items() for what, observe in cases.items()]


@pytest.fixture(scope="session")
def five_rows(kafka: str) -> str:
    return create_input(kafka)


@pytest.mark.services
@pytest.mark.proves("operators tried")
@pytest.mark.parametrize(("title", "what", "observe"), CASES, ids=[what for _, what, _ in CASES])
def test_construct_has_the_outcome_of_its_row(
    title: str, what: str, observe: Observe, spark: SparkSession, kafka: str, five_rows: str, tmp_path: Path
) -> None:
    assert cells_of_page()[title, what] == observe(open_probe(spark, kafka, five_rows, tmp_path))


@pytest.mark.services
def test_operator_outside_the_allowlist_withholds_rows(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    coalesced = open_probe(spark, kafka, create_input(kafka, partitions=2), tmp_path)
    coalesced.spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
    ranged = coalesced.with_empty_target()
    rows = coalesced.rows()
    queries = [
        in_real_time(probe.write(withheld), "2 seconds").start()
        for probe, withheld in ((coalesced, rows.coalesce(1)), (ranged, rows.repartitionByRange(2, "k")))
    ]

    def have_read() -> bool:
        finished = [[batch.numInputRows for batch in query.recentProgress] for query in queries]
        return all(len(rows) > 2 and any(rows) for rows in finished)

    wait_until(have_read, 60, "batches", queries)
    assert [len(INPUT), 0] == [len(coalesced.texts()), len(ranged.texts())]


def test_page_has_a_row_for_each_case_in_its_order() -> None:
    assert [(title, what) for title, what, _ in CASES] == [*cells_of_page()]
