import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_rtm.prove.records.decoding import decoding

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("from_csv(value, 'a string, n int', map('sep', '|')).n", ("csv", "struct<a:string,n:int>", "|")),
        ("try_cast(split(value, '\\\\|')[1] as int)", ("csv", "struct<column 1:string,column 2:bigint>", "|")),
        ("cast(null as array<int>)", ("", "struct<>", ",")),
        ("get_json_object(value, '$.place.city')", ("json", "struct<place:struct<city:string>>", ",")),
        ("from_json(value, 'map<string, string>')", ("other", "struct<>", ",")),
        ("try_cast(value as int)", ("other", "struct<>", ",")),
        ("upper(value)", ("", "struct<>", ",")),
    ],
)
def test_fields_are_read_from_the_plan(expression: str, expected: tuple[str, str, str], spark: SparkSession) -> None:
    values = spark.createDataFrame([("{}",)], "value string")

    found = decoding(values.select(F.expr(expression)))

    assert expected == (found.format, found.schema.simpleString(), found.separator)
