"""Every row for OSS is tried: what runs must write the right rows, what is refused must say so by the row's name."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from examples.realtime.slots import wait_until
from scripts.pack import files
from scripts.text import markdown
from tests.pages.bench import INPUT, create_input, in_real_time, open_bench
from tests.pages.cases_of_functions import FUNCTIONS
from tests.pages.cases_of_operators import JOINS, STATEFUL, STATELESS
from tests.pages.cases_of_options import SESSION_OPTIONS, SINK_OPTIONS, SOURCE_OPTIONS
from tests.pages.cases_of_python import PYTHON
from tests.pages.cases_of_sinks import SINKS
from tests.pages.cases_of_sources import SOURCES
from tests.pages.outcomes import Case, runs

PAGE = files.ROOT / "references" / "sources_sinks_operators.md"
ENGINE = "OSS 4.3.0"
TABLES = {
    "Sources": SOURCES,
    "Sinks and output modes": SINKS,
    "Operators without state": STATELESS,
    "Joins": JOINS,
    "Operators with state": STATEFUL,
    "Python code on the path of rows": PYTHON,
    "Functions": FUNCTIONS,
    "Options and settings": (*SOURCE_OPTIONS, *SINK_OPTIONS, *SESSION_OPTIONS),
}
CASES = [case for cases in TABLES.values() for case in cases]


@pytest.fixture(scope="session")
def five_rows(kafka: str) -> str:
    """Return a topic with the input rows, which all cases read and none changes."""
    return create_input(kafka)


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_construct_does_what_the_page_says(
    case: Case, spark: SparkSession, kafka: str, five_rows: str, tmp_path: Path
) -> None:
    """The engine's own answer is the word of the table."""
    assert case.cell == case.observe(open_bench(spark, kafka, five_rows, tmp_path))


@pytest.mark.spark
@pytest.mark.services
def test_construct_with_other_rows_than_expected_is_noticed(
    spark: SparkSession, kafka: str, five_rows: str, tmp_path: Path
) -> None:
    """A construct that runs and gives wrong rows does not count as one that runs."""
    case = runs("wrong", lambda bench: bench.rows().where("k = 'z'"), "z 8")

    assert "runs and writes ['z 9']" == case.observe(open_bench(spark, kafka, five_rows, tmp_path))


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.parametrize(
    ("withhold", "delivered"),
    [(lambda rows: rows.coalesce(1), len(INPUT)), (lambda rows: rows.repartitionByRange(2, "k"), 0)],
    ids=["coalesce", "repartitionByRange"],
)
def test_operator_let_through_by_an_open_allowlist_withholds_rows(
    withhold: Callable[[DataFrame], DataFrame], delivered: int, spark: SparkSession, kafka: str, tmp_path: Path
) -> None:
    """With the check off these run without an error, and rows of the two partitions are missing batch after batch."""
    bench = open_bench(spark, kafka, create_input(kafka, partitions=2), tmp_path)
    bench.spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
    query = in_real_time(bench.write(withhold(bench.rows())), "2 seconds").start()

    wait_until(
        lambda: len([p for p in query.recentProgress if p.numInputRows]) and len(query.recentProgress) > 2,
        60,
        "batches",
        [query],
    )

    assert delivered == len(bench.texts())
    assert query.isActive


def test_page_has_exactly_the_rows_that_are_tried() -> None:
    """Each table of the page says word for word what the cases prove, in their order, and nothing else."""
    assert {name: _rows(cases) for name, cases in TABLES.items()} == rows_of(PAGE.read_text(encoding="utf-8"))


def test_wrong_word_in_the_page_is_noticed() -> None:
    """A row that says `runs` of what is refused differs from the cases."""
    text = PAGE.read_text(encoding="utf-8").replace("not allowed: `MemorySink`", "runs")

    assert {"Sinks and output modes"} == {name for name, rows in rows_of(text).items() if _rows(TABLES[name]) != rows}


def rows_of(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the first cell and the cell of OSS of each row, by the heading above the table."""
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
