"""Facts in Avro, with and without a schema registry header, are decoded, and all other records are rejected."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from evals.stage import Answer, fields, outputs, require_same, wrong
from spark_rtm.prove.engine import Bench
from spark_rtm.testing.records import Sent

FRAME = bytes(4) + b"\x01"
FACTS = {b"\x04f1\x02": {"fact_id": "f1", "amount": 1}, b"\x04f2\xc8\x01": {"fact_id": "f2", "amount": 100}}
BROKEN = (None, b"", b"\x04f", FRAME, FRAME + b"\x04f3")


def verify(bench: Bench, answer: Answer) -> None:
    """Send each fact with and without the header, and truncated records."""
    good = {frame + data: fact for frame in (b"", FRAME) for data, fact in FACTS.items()}
    values = [*good, *BROKEN]
    found = outputs(bench, answer, [Sent(value, str(n).encode()) for n, value in enumerate(values)])
    facts = [(record.key, *fields(record).items()) for record in found if record.topic == "facts"]
    wanted = [(str(n).encode(), *fact.items()) for n, fact in enumerate(good.values())]
    require_same(wanted, facts, "facts")
    rejected = [(record.key, record.value) for record in found if record.topic == "facts-rejected"]
    require_same(
        [(str(n).encode(), value) for n, value in enumerate(values) if value not in good], rejected, "rejected records"
    )


FACT = """{"type": "record", "name": "Fact",
"fields": [{"name": "fact_id", "type": "string"}, {"name": "amount", "type": "long"}]}"""
PLAIN, FRAMED = "value", "substring(value, 6)"


def decoded(records: DataFrame, data: str, mode: str = "PERMISSIVE") -> DataFrame:
    """Write decoded facts and rejected records."""
    rows = records.withColumn("fact", from_avro(F.expr(data), FACT, {"mode": mode}))
    is_good = F.expr("coalesce(fact.fact_id is not null and fact.amount is not null, false)")
    value = F.when(is_good, F.to_json("fact").cast("binary")).otherwise(F.col("value"))
    return rows.select("key", value.alias("value"), F.when(is_good, "facts").otherwise("facts-rejected").alias("topic"))


def right(records: DataFrame, mode: str = "PERMISSIVE") -> DataFrame:
    """Skip the registry header of records that have one."""
    return decoded(records, f"if(substring(value, 1, 1) = X'00', {FRAMED}, {PLAIN})", mode)


@wrong(r"2 missing facts")
def always_skipped(records: DataFrame) -> DataFrame:
    """Skip the first five bytes of every record."""
    return decoded(records, FRAMED)


@wrong(r"the query ended with .*Malformed records")
def fail_fast(records: DataFrame) -> DataFrame:
    """Keep the default mode, in which a broken record makes the query fail."""
    return right(records, "FAILFAST")
