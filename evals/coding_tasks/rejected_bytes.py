"""Good payments and rejected records keep their original bytes, and no record is lost or makes the query fail."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from evals.stage import Answer, outputs, require, require_same, wrong
from spark_rtm.prove.engine import Bench
from spark_rtm.realtime.decoding import any_of, first_reason, parse, reasons_of_form
from spark_rtm.testing.records import Sent

GOOD = [b'{"card":"c1","amount_cents":5}', b'{"amount_cents":0,"card":"c2","note":"x"}']
BAD = {
    "text after the object": b'{"card":"c1","amount_cents":5}tail',
    "a number as card": b'{"card":7,"amount_cents":5}',
    "a negative amount": b'{"card":"c1","amount_cents":-1}',
    "a fraction": b'{"card":"c1","amount_cents":1.5}',
    "text as amount": b'{"card":"c1","amount_cents":"x"}',
    "no card": b'{"amount_cents":5}',
    "half an object": b'{"card":"c1","amou',
    "invalid UTF-8": b'{"card":"\xff\xfe","amount_cents":5}',
    "an empty value": b"",
    "a null value": None,
}


def verify(bench: Bench, answer: Answer) -> None:
    """Send good and bad records, and compare topic, key and bytes of each output."""
    good = [Sent(value, b"good\xff%d" % number) for number, value in enumerate(GOOD)]
    bad = [Sent(value, f"bad {number}".encode()) for number, value in enumerate(BAD.values())]
    found = outputs(bench, answer, [*good, *bad])
    accepted = {record.key for record in found if record.topic == "payments-checked"}
    kinds = [kind for kind, record in zip(BAD, bad, strict=True) if record.key in accepted]
    require(not kinds, f"accepted as good: {', '.join(kinds)}")
    for topic, sent in (("payments-checked", good), ("payments-rejected", bad)):
        written = [(record.key, record.value) for record in found if record.topic == topic]
        require_same([(record.key, record.value) for record in sent], written, f"records of {topic}")


PAYMENT = StructType([StructField("card", StringType()), StructField("amount_cents", LongType())])


def right(records: DataFrame) -> DataFrame:
    """Parse each value strictly, with expressions that cannot fail."""
    card, amount = F.col("payment.card"), F.col("payment.amount_cents")
    wrong = any_of([card.isNull(), amount.isNull(), amount < 0])
    reasons = {**reasons_of_form("payment", ["card"]), "wrong_field": wrong}
    topic = F.when(first_reason(reasons).isNull(), "payments-checked").otherwise("payments-rejected")
    return parse(records, PAYMENT, "payment").select("key", "value", topic.alias("topic"))


@wrong(r"ended with CAST_INVALID_INPUT")
def cast(records: DataFrame) -> DataFrame:
    """Cast the amount, which raises an error for a value that is not a number."""
    text = F.col("value").cast("string")
    amount = F.get_json_object(text, "$.amount_cents").cast("long")
    is_good = F.get_json_object(text, "$.card").isNotNull() & (amount >= 0)
    topic = F.when(is_good, "payments-checked").otherwise("payments-rejected")
    return records.select("key", "value", topic.alias("topic"))


@wrong(r"accepted as good: text after the object, a number as card")
def lenient(records: DataFrame) -> DataFrame:
    """Trust `from_json`, which ignores text after the object and reads numbers as strings."""
    options = {"columnNameOfCorruptRecord": "corrupt"}
    payment = F.from_json(F.col("value").cast("string"), "card string, amount_cents long, corrupt string", options)
    is_good = F.expr("payment.corrupt is null and payment.card is not null and payment.amount_cents >= 0")
    topic = F.when(is_good, "payments-checked").otherwise("payments-rejected")
    return records.withColumn("payment", payment).select("key", "value", topic.alias("topic"))


@wrong(r"missing records of payments-rejected")
def rebuilt(records: DataFrame) -> DataFrame:
    """Wrap rejected records in JSON, so their original bytes are lost."""
    routed = right(records)
    reject = F.to_json(F.struct(F.col("value").cast("string").alias("raw"), F.lit("invalid").alias("reason")))
    value = F.when(F.col("topic") == "payments-checked", F.col("value")).otherwise(reject.cast("binary"))
    return routed.withColumn("value", value)
