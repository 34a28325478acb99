from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_rtm.prove.records import samples
from spark_rtm.prove.records.parseable_strings import adapted, time_in


@pytest.mark.parametrize(
    ("pattern", "form"),
    [
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "%Y-%m-%dT%H:%M:%S+00:00"),
        ("dd/MM/yyyy HH:mm", "%d/%m/%Y %H:%M"),
        ("yyyy-MM-dd HH:mm:ss.SSSSSS", "%Y-%m-%d %H:%M:%S.%f"),
        ("MM-dd-yyyy hh:mm a", "%m-%d-%Y %I:%M %p"),
    ],
)
def test_time_is_written_in_a_pattern_of_java(pattern: str, form: str) -> None:
    written = datetime.strptime(time_in(pattern), form).replace(tzinfo=UTC)

    assert timedelta(minutes=2) > datetime.now(UTC) - written


PARSED = {
    "format": (["from_json(v, 'a string') AS d"], ["d.a"], ["to_timestamp(a, \"dd/MM/yyyy'T'HH:mm:ssXXX\")"]),
    "cast": (["from_json(v, 'a string, b string') AS d"], ["cast(d.a as timestamp)", "cast(d.b as double)"]),
    "parts": (["from_json(v, 'a string') AS d"], ["split(d.a, '_')[0]", "cast(split(d.a, '_')[1] as int)"]),
    "split": (["split(v, '[|]') AS a"], ["cast(a[1] as date)", "cast(a[0] as int)"]),
    "split at once": (["cast(split(v, ', ')[1] as timestamp)", "to_date(split(v, ', ')[0], 'dd.MM.yyyy')"],),
}


@pytest.mark.parametrize("name", PARSED)
def test_made_records_are_parsed_like_those_of_production(name: str, spark: SparkSession) -> None:
    """Otherwise, the query fails on the first generated record."""

    def parsed(rows: list[tuple[bytes]]) -> DataFrame:
        frame = spark.createDataFrame(rows, "value binary").selectExpr("cast(value as string) as v")
        for expressions in PARSED[name]:
            frame = frame.selectExpr("v", *expressions)
        return frame

    empty = parsed([])

    found = parsed([(sent.value or b"",) for sent in adapted(empty, samples.made_samples(empty))]).collect()

    assert [False, False] == [None in row for row in found]
