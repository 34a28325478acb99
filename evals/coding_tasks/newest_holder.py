"""Each payment gets the newest holder of its card from a topic with older and deleted holders."""

import json

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evals.stage import Answer, fields, outputs, require_same, wrong
from spark_rtm.prove.engine import Bench

HOLDERS = [("c1", "Ada"), ("c2", "Bo"), ("c1", "Ann"), ("c3", "Cy"), ("c3", None), ("c1", "Abe")]
EXPECTED = {"c1": "Abe", "c2": "Bo", "c3": None, "c4": None}


def verify(bench: Bench, answer: Answer) -> None:
    """Send two payments per card, including cards without a holder."""
    holders = [(card, json.dumps({"holder": name}) if name else None) for card, name in HOLDERS]
    payments = [{"card": card, "amount_cents": cents} for card in EXPECTED for cents in (1, 2)]
    found = [fields(record) for record in outputs(bench, answer, payments, tables={"holders": holders})]
    expected = [(payment["card"], payment["amount_cents"], EXPECTED[str(payment["card"])]) for payment in payments]
    require_same(expected, [(f.get("card"), f.get("amount_cents"), f.get("holder")) for f in found], "payments")


def paid(records: DataFrame) -> DataFrame:
    """Return the columns `card` and `amount_cents`."""
    payment = F.from_json(F.col("value").cast("string"), "card string, amount_cents long").alias("payment")
    return records.select(payment).select("payment.*")


def named(holders: DataFrame, value: str) -> DataFrame:
    """Return the columns `card` and `holder`."""
    holder = F.get_json_object(F.col(value).cast("string"), "$.holder").alias("holder")
    return holders.select(F.col("key").cast("string").alias("card"), holder)


def newest(holders: DataFrame) -> DataFrame:
    """Return the newest record of each card."""
    return named(holders.groupBy("key").agg(F.max_by("value", "offset").alias("last")), "last")


def rows(joined: DataFrame) -> DataFrame:
    """Return Kafka sink rows."""
    return joined.select(
        F.col("card").alias("key"), F.to_json(F.struct("card", "amount_cents", "holder")).alias("value")
    )


def right(records: DataFrame, holders: DataFrame) -> DataFrame:
    """Broadcast one row per card, and keep payments without a holder."""
    return rows(paid(records).join(F.broadcast(newest(holders)), "card", "left"))


@wrong(r"surplus payments")
def all_versions(records: DataFrame, holders: DataFrame) -> DataFrame:
    """Join with every version of a card's holder."""
    return rows(paid(records).join(F.broadcast(named(holders, "value")), "card", "left"))


@wrong(r"2 missing payments, such as \('c4', 1, None\)")
def inner(records: DataFrame, holders: DataFrame) -> DataFrame:
    """Use an inner join, which loses the payments of cards without a holder."""
    return rows(paid(records).join(F.broadcast(newest(holders)), "card"))
