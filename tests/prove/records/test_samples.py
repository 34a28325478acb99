import json

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from spark_rtm.prove.records.samples import made_samples, other_samples
from spark_rtm.testing.records import Sent

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]


def test_records_are_made_from_the_schema_in_the_plan(spark: SparkSession) -> None:
    schema = (
        "id string, kind string, amount double, ts long, at timestamp, tags array<string>, place struct<city string>, "
        "length_ms long, level string"
    )
    value = F.from_json(F.col("value").cast("string"), schema)
    parsed = spark.createDataFrame([("{}",)], "value string").select(value.alias("event"))
    rows = parsed.where(F.col("event.kind").isin("click", "view")).select(F.to_json("event").alias("value"), "event")
    is_bad = ~F.col("event.level").isin("INFO", "WARN") | F.get_json_object("value", "$.unread").isNotNull()
    rows = rows.select("value", F.when(is_bad, "rejected").alias("topic"))

    first, second = (json.loads(sample.value or b"") for sample in made_samples(rows))

    assert ("a1", 1, ["a1"], {"city": "a1"}) == (first["id"], first["amount"], first["tags"], first["place"])
    assert "a2" == second["id"]
    assert ("click", "click", "INFO") == (first["kind"], second["kind"], first["level"])
    assert first["ts"] > 10**12
    assert 1 == first["length_ms"]
    assert first["at"].startswith("20")


AVRO = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "stars", "type": ["null", "int"]},
        {"name": "price", "type": {"type": "double"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "level", "type": {"type": "enum", "name": "Level", "symbols": ["LOW", "HIGH"]}},
        {"name": "before", "type": "Level"},
        {"name": "either", "type": ["null", "string", "boolean"]},
        {"name": "cents", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 2}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "sent_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


@pytest.mark.parametrize(("start", "header"), [(1, b""), (6, b"\0\0\0\0\1")], ids=["plain", "confluent"])
def test_made_avro_records_are_decoded_by_the_query(start: int, header: bytes, spark: SparkSession) -> None:
    """Spark reads every field of the records, which begin with Confluent's header if the query skips it."""
    stream = spark.readStream.format("rate").load().selectExpr("cast('' as binary) as value")

    def decoded(rows: DataFrame) -> DataFrame:
        framed = rows.select(F.expr(f"substring(value, {start})").alias("avro"))
        fields = framed.select(from_avro("avro", json.dumps(AVRO)).alias("r")).select("r.*")
        return fields.where("stars > 10 and not price >= 0.5 and level = 'HIGH'")

    made = made_samples(decoded(stream))

    rows = decoded(spark.createDataFrame([(sent.value,) for sent in made], "value binary")).drop("sent_at", "day")
    expected = [(f"a{n}", 11, -0.5, [f"a{n}"], "HIGH", "LOW", (f"a{n}", None), n, b"\0\0", {"a": n}) for n in (1, 2)]
    assert expected == [tuple(row) for row in rows.collect()]
    assert all((sent.value or b"").startswith(header) for sent in made)


FIELDS = (
    "select from_json(cast(value as string), 'device string, temp double, ok boolean, price string, event_ts long')"
    " as e from {rows}"
)
FILTERS = {
    "one side": "e.temp > 80",
    "between": "e.temp between 81.5 and 81.9",
    "several": "80 >= e.temp and e.ok and e.device in ('x', 'y') and not e.device = 'x'",
    "text": "e.device like 'sensor-%' and e.device is not null and not e.ok",
    "cast": "cast(e.price as int) > 5",
    "time": "e.event_ts between unix_millis(now()) - 600000 and unix_millis(now())",
    "computed": "case when e.temp > 80 then 'hot' else 'cold' end = 'cold' and e.temp * 9 / 5 + 32 > 100",
}


@pytest.mark.parametrize("condition", FILTERS.values(), ids=FILTERS)
def test_made_records_pass_the_filter_of_the_query(condition: str, spark: SparkSession) -> None:
    def kept(rows: DataFrame) -> DataFrame:
        return spark.sql(FIELDS, rows=rows).where(condition)

    rows = kept(spark.readStream.format("rate").load().selectExpr("cast('' as binary) as value"))
    made = made_samples(rows)
    made += other_samples(rows) if "case" in condition else []

    table = spark.createDataFrame([(sent.value,) for sent in made], "value binary")
    assert kept(table).count() > 0


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("get_json_object(cast(value as string), '$.order.total') > 5", Sent(b'{"order": {"total": "6"}}', b"a1")),
        ("cast(value as string) like '%ERROR%'", Sent(b"ERROR", b"a1")),
        ("from_csv(cast(value as string), 'id int, name string').id = 7", Sent(b"7,a1", b"a1")),
        (
            "cast(filter(headers, h -> h.key = 'trace')[0].value as string) = 'x' and headers[1].value is not null",
            Sent(b"x", b"a1", (("trace", b"x"), ("header1", b"x"))),
        ),
    ],
    ids=["paths", "text", "csv", "headers"],
)
def test_records_are_made_without_a_json_schema(condition: str, expected: Sent, spark: SparkSession) -> None:
    columns = ("cast('' as binary) as value", "cast(null as array<struct<key:string,value:binary>>) as headers")
    rows = spark.readStream.format("rate").load().selectExpr(*columns).where(condition)

    assert expected == made_samples(rows)[0]
