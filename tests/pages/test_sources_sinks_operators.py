"""Every OSS cell of the page is observed: accepted constructs write the expected rows, others fail as stated."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from scripts.pack import files
from spark_rtm.realtime.queries import wait_until
from spark_rtm.text import markdown
from tests.pages.cases_of_functions import FUNCTIONS
from tests.pages.cases_of_operators import JOINS, STATEFUL, STATELESS
from tests.pages.cases_of_options import SESSION_OPTIONS, SINK_OPTIONS, SOURCE_OPTIONS
from tests.pages.cases_of_python import PYTHON
from tests.pages.cases_of_sinks import SINKS
from tests.pages.cases_of_sources import SOURCES
from tests.pages.operator_probe import INPUT, create_input, in_real_time, open_probe
from tests.pages.outcomes import Case

PAGE = files.ROOT / "references" / "sources_sinks_operators.md"
ENGINE = "OSS 4.3.0"
TABLES = {
    "Sources": SOURCES,
    "Sinks and output modes": SINKS,
    "Operators without state": STATELESS,
    "Joins": JOINS,
    "Operators with state": STATEFUL,
    "Python code in a query": PYTHON,
    "Functions": FUNCTIONS,
    "Options and settings": (*SOURCE_OPTIONS, *SINK_OPTIONS, *SESSION_OPTIONS),
}
CASES = [case for cases in TABLES.values() for case in cases]


@pytest.fixture(scope="session")
def five_rows(kafka: str) -> str:
    return create_input(kafka)


@pytest.mark.services
@pytest.mark.proves("operators tried")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_construct_has_the_outcome_of_its_row(
    case: Case, spark: SparkSession, kafka: str, five_rows: str, tmp_path: Path
) -> None:
    assert case.cell == case.observe(open_probe(spark, kafka, five_rows, tmp_path))


@pytest.mark.services
@pytest.mark.parametrize(
    ("withhold", "delivered"),
    [(lambda rows: rows.coalesce(1), len(INPUT)), (lambda rows: rows.repartitionByRange(2, "k"), 0)],
    ids=["coalesce", "repartitionByRange"],
)
def test_operator_outside_the_allowlist_withholds_rows(
    withhold: Callable[[DataFrame], DataFrame], delivered: int, spark: SparkSession, kafka: str, tmp_path: Path
) -> None:
    probe = open_probe(spark, kafka, create_input(kafka, partitions=2), tmp_path)
    probe.spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
    query = in_real_time(probe.write(withhold(probe.rows())), "2 seconds").start()

    wait_until(
        lambda: len([p for p in query.recentProgress if p.numInputRows]) and len(query.recentProgress) > 2,
        60,
        "batches",
        [query],
    )

    assert delivered == len(probe.texts())
    assert query.isActive


def test_tables_of_page_equal_the_cases() -> None:
    assert {name: _rows(cases) for name, cases in TABLES.items()} == rows_of(PAGE.read_text(encoding="utf-8"))


def rows_of(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the first cell and the OSS cell of each row, by the heading above the table."""
    headings = markdown.headings(text)
    return {
        [heading.title for heading in headings if heading.line < table.line][-1]: [
            (row[0], row[table.header.index(ENGINE)]) for _, row in table.rows
        ]
        for table in markdown.tables(text)
        if ENGINE in table.header
    }


def _rows(cases: tuple[Case, ...]) -> list[tuple[str, str]]:
    return [(case.what, case.cell) for case in cases]
