"""Every refusal of real-time mode that Spark's own list names is provoked, documented and quoted word for word."""

import pytest
from pyspark.sql import SparkSession
from pytest_examples import EvalExample

from examples.realtime.slots import QueryFailedError, wait_until
from scripts.pack import files
from tests.pages.examples import Example
from tests.pages.pipelined import PROVOKED
from tests.pages.refusals import (
    PAGES,
    about_real_time_mode,
    failure,
    foreign,
    quotes,
    refused_examples,
    spark_templates,
    unproved,
)
from tests.pages.running import Place, name_of
from tests.pages.samples import SOURCES

FAMILY = "STREAMING_REAL_TIME_MODE"
SQL_CLASSES = {f"{FAMILY}.{part}" for part in ("OUTPUT_MODE_NOT_SUPPORTED", "INPUT_STREAM_NOT_SUPPORTED")}
# What a page about later failures shows although it comes at once.
AT_ONCE = {"ImportError", "_LEGACY_ERROR_TEMP_1298"}
TESTS = [path.read_text(encoding="utf-8") for path in (files.ROOT / "tests/pages").glob("test_errors_*.py")]


def test_condition_of_sparks_list_is_provoked_and_documented() -> None:
    """When a new Spark can refuse more, this fails until a fence or a test provokes it and a page names it."""
    conditions = about_real_time_mode(spark_templates())

    assert conditions >= {*SQL_CLASSES, "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT", *PROVOKED}
    assert [] == unproved(conditions, PROVOKED)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (f"{FAMILY}.TIMERS_NOT_SUPPORTED", "Timers of this kind are refused."),
        ("STREAMING_SINK_TOO_SLOW", "The sink cannot keep up in Real-time Mode."),
        ("PIPELINED_SHUFFLE_LOST", "The shuffle <shuffleId> is gone."),
    ],
    ids=["sub-class", "named-in-the-message", "named-in-the-condition"],
)
def test_condition_that_nothing_provokes_is_found(name: str, message: str) -> None:
    """The check can fail: a condition that a future Spark adds to its list is reported."""
    future = {**spark_templates(), name: message}

    assert [name] == unproved(about_real_time_mode(future), PROVOKED)


def test_condition_that_no_row_names_is_found() -> None:
    """Provoking is not enough: what no heading or row names is reported."""
    assert ["SOMEWHERE_ELSE"] == unproved({"SOMEWHERE_ELSE"}, [*PROVOKED, "SOMEWHERE_ELSE"])


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.parametrize("example", refused_examples(), ids=str)
def test_refusal_comes_at_the_moment_and_in_the_words_of_the_page(
    example: Example, eval_example: EvalExample, place: Place
) -> None:
    """The page's own distinction between start and later holds, and the quote above the code is the engine's."""
    condition = example.fence.options["raises"]
    topics = [topic for topic in SOURCES if f'"{topic}"' in example.fence.code]

    moment, error = failure(
        lambda session: eval_example.run(example.as_code_example(), module_globals={"spark": session}).values(),
        place,
        topics,
    )

    is_at_start = "at_start" in example.page or condition in AT_ONCE
    assert ("start" if is_at_start else "later", condition) == (moment, name_of(error))
    quoted = [text for text, line in quotes(files.ROOT / example.page).items() if line == example.fence.line]
    assert quoted, f"{example} quotes no message above its code"
    assert [] == foreign(quoted, condition, error)


def test_quote_that_is_not_the_engines_is_found() -> None:
    """One changed word makes the check fail, and words that were raised pass it."""
    right, wrong = "set the output mode to Update", "set the output mode to Append"

    assert [wrong] == foreign([right, wrong, "Topic x"], f"{FAMILY}.OUTPUT_MODE_NOT_SUPPORTED", ValueError("Topic x"))


def test_quote_without_code_is_proved_by_a_test() -> None:
    """What no fence of the section provokes is in Spark's list, or a test compares it with what happened."""
    known = [*spark_templates().values(), *spark_templates(), *TESTS]
    alone = [text for page in PAGES for text, line in quotes(page).items() if not line]

    assert alone
    assert [] == [text for text in alone if not any(text in source for source in known)]


@pytest.mark.spark
def test_exception_of_the_start_knows_its_condition(spark: SparkSession) -> None:
    """What `start()` raises can be asked for its condition."""
    writer = spark.readStream.format("rate").load().writeStream.format("console")

    with pytest.raises(Exception, match="OUTPUT_MODE_NOT_SUPPORTED") as refused:
        writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]

    assert f"{FAMILY}.OUTPUT_MODE_NOT_SUPPORTED" == refused.value.getCondition()  # type: ignore[attr-defined]


@pytest.mark.spark
def test_exception_of_a_query_has_its_condition_only_in_its_text(spark: SparkSession) -> None:
    """What comes later does not know its condition; `QueryFailedError` does."""
    writer = spark.readStream.format("rate").load().writeStream.format("console").outputMode("update")
    query = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]

    with pytest.raises(QueryFailedError) as failed:
        wait_until(lambda: False, 60, "a failure", [query])

    error = query.exception()
    assert error is not None
    assert error.getCondition() is None
    assert f"{FAMILY}.INPUT_STREAM_NOT_SUPPORTED" in str(error)
    assert f"{FAMILY}.INPUT_STREAM_NOT_SUPPORTED" == failed.value.condition
