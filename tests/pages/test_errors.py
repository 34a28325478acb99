import pytest
from pyspark.sql import SparkSession
from pytest_examples import EvalExample

from scripts.pack import files
from spark_rtm.realtime.failures import name_of
from spark_rtm.realtime.queries import QueryFailedError, wait_until
from spark_rtm.text import markdown
from tests.pages.examples import Example
from tests.pages.refusals import (
    PAGES,
    about_real_time_mode,
    quotes,
    refused_examples,
    spark_templates,
    unmatched_quotes,
    unproved,
)
from tests.pages.running import PageEnvironment, failure
from tests.pages.samples import SOURCES
from tests.pages.test_errors_while_running import PROVOKED

FAMILY = "STREAMING_REAL_TIME_MODE"
SQL_CLASSES = {f"{FAMILY}.{part}" for part in ("OUTPUT_MODE_NOT_SUPPORTED", "INPUT_STREAM_NOT_SUPPORTED")}
# Conditions raised by `start()` or earlier, on pages about later failures.
RAISED_AT_START = {"ImportError", "_LEGACY_ERROR_TEMP_1298"}
TESTS = [path.read_text(encoding="utf-8") for path in (files.ROOT / "tests/pages").glob("test_errors_*.py")]


def test_condition_in_spark_list_is_reproduced_and_documented() -> None:
    """A condition that a new Spark version adds fails this test until it is reproduced and a page names it."""
    conditions = about_real_time_mode(spark_templates())

    assert conditions >= {*SQL_CLASSES, "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT", *PROVOKED}
    assert [] == unproved(conditions, PROVOKED)


def test_conditions_of_databricks_page_are_not_in_the_list_of_oss() -> None:
    table = markdown.tables((files.ROOT / "references/errors_on_databricks.md").read_text(encoding="utf-8"))[0]

    names = {f"STREAMING_REAL_TIME_MODE.{cells[0].strip('`')}" for _, cells in table.rows}

    assert set() == names & set(spark_templates())
    assert "STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED" in spark_templates()


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.proves("conditions provoked")
@pytest.mark.proves("code blocks run")
@pytest.mark.parametrize("example", refused_examples(), ids=str)
def test_refusal_has_moment_and_message_that_the_page_states(
    example: Example, eval_example: EvalExample, environment: PageEnvironment
) -> None:
    condition = example.fence.options["raises"]
    topics = [topic for topic in SOURCES if f'"{topic}"' in example.fence.code]

    moment, error = failure(
        lambda session: eval_example.run(example.as_code_example(), module_globals={"spark": session}).values(),
        environment,
        topics,
    )

    is_at_start = "at_start" in example.page or condition in RAISED_AT_START
    assert ("start" if is_at_start else "later", condition) == (moment, name_of(error))
    quoted = [text for text, line in quotes(files.ROOT / example.page).items() if line == example.fence.line]
    assert quoted, f"{example}: no message is quoted above the code"
    assert [] == unmatched_quotes(quoted, condition, error)


def test_quote_without_fence_is_in_spark_list_or_a_test() -> None:
    known = [*spark_templates().values(), *spark_templates(), *TESTS]
    without_fence = [text for page in PAGES for text, line in quotes(page).items() if not line]

    assert without_fence
    assert [] == [text for text in without_fence if not any(text in source for source in known)]


def test_exception_of_query_has_condition_only_in_its_text(spark: SparkSession) -> None:
    """`getCondition()` of a query's exception returns None; `QueryFailedError` has the condition."""
    writer = spark.readStream.format("rate").load().writeStream.format("console").outputMode("update")
    query = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]

    with pytest.raises(QueryFailedError) as failed:
        wait_until(lambda: False, 60, "a failure", [query])

    error = query.exception()
    assert error is not None
    assert not query.isActive
    assert error.getCondition() is None
    assert f"{FAMILY}.INPUT_STREAM_NOT_SUPPORTED" in str(error)
    assert f"{FAMILY}.INPUT_STREAM_NOT_SUPPORTED" == failed.value.condition
