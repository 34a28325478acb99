import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from scripts.pack import files
from spark_rtm.text import markdown

pytestmark = pytest.mark.spark

# The largest whole number of days whose microseconds fit into a signed 64-bit number.
MAX_DAYS = 106_751_991


@pytest.mark.parametrize("interval", ["15 minutes 30 seconds", "1 week", f"{MAX_DAYS} days"])
def test_long_interval_is_accepted_without_an_error(spark: SparkSession, interval: str) -> None:
    writer = spark.readStream.format("rate").load().writeStream

    assert writer is writer.trigger(realTime=interval)  # type: ignore[call-overload]  # not in its hints


@pytest.mark.parametrize(
    ("interval", "message"),
    [
        (f"{MAX_DAYS + 1} days", "long overflow"),
        ("1 month", "Doesn't support month or year interval"),
        ("1 year", "Doesn't support month or year interval"),
        ("0.5 minutes", "INVALID_INTERVAL_FORMAT.INVALID_FRACTION"),
    ],
    ids=["too-long", "month", "year", "fraction"],
)
def test_interval_outside_the_limits_is_refused(spark: SparkSession, interval: str, message: str) -> None:
    writer = spark.readStream.format("rate").load().writeStream

    with pytest.raises(Exception, match=message):
        writer.trigger(realTime=interval)  # type: ignore[call-overload]  # not in its hints


def pattern_of_page() -> str:
    text = (files.ROOT / "references/errors_in_rows.md").read_text(encoding="utf-8")
    line = next(
        line for fence in markdown.fences(text) for line in fence.code.splitlines() if "try_to_timestamp" in line
    )
    return line.split('F.lit("')[1].split('"')[0]


TIMES = {
    "2026-11-23T10:00:00Z": ("2026-11-23 10:00:00", "2026-11-23 10:00:00"),
    "2026-11-23T12:00:00+02:00": ("2026-11-23 10:00:00", "2026-11-23 10:00:00"),
    "2026-11-23T10:00:00.123Z": ("2026-11-23 10:00:00.123", "2026-11-23 10:00:00.123"),
    "2026-11-23T10:00:00.123456Z": ("2026-11-23 10:00:00.123456", "2026-11-23 10:00:00.123456"),
    "2026-11-23T10:00:00": (None, "2026-11-23 10:00:00"),
    "2026": (None, "2026-01-01 00:00:00"),
    "2026-13-01T00:00:00Z": (None, None),
    "20261123T100000Z": (None, None),
    "tomorrow at ten": (None, None),
    "": (None, None),
}
"""For each text: the time as parsed with the page's pattern, and without a pattern."""


def test_event_time_is_parsed_or_null_but_never_an_error(spark: SparkSession) -> None:
    """`try_to_timestamp` with the page's pattern accepts only ISO-8601 times with an offset; others become null."""
    texts = spark.createDataFrame([(text,) for text in TIMES], "text string")
    parsed = texts.select(
        "text",
        F.try_to_timestamp("text", F.lit(pattern_of_page())).cast("string"),
        F.try_to_timestamp("text").cast("string"),
        F.expr("string(try_cast(text as timestamp))"),
    )

    assert TIMES == {text: (pattern, plain) for text, pattern, plain, _ in parsed.collect()}
    assert TIMES == {text: (pattern, cast) for text, pattern, _, cast in parsed.collect()}


@pytest.mark.parametrize("text", ["10:00", "now"])
def test_time_of_today_is_accepted_only_without_pattern(spark: SparkSession, text: str) -> None:
    parsed = spark.sql(
        "select try_to_timestamp(:text, :pattern) is null, date(try_to_timestamp(:text)) = current_date()",
        args={"text": text, "pattern": pattern_of_page()},
    )

    assert [(True, True)] == [tuple(row) for row in parsed.collect()]
