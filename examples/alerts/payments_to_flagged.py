"""
Flag each card payment within milliseconds, by the rule of the payment's country.

The newest rule of each country in the topic `payment-rules` applies. Real-time mode supports only broadcast joins, so
the rules are broadcast. The query reads the rules again at the start of every batch.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from examples.alerts.decoding import decode, newest, route
from examples.alerts.job import Job

PAYMENTS = (
    StructType()
    .add("payment_id", "string", nullable=False)
    .add("card", "string", nullable=False)
    .add("country", "string", nullable=False)
    .add("amount_cents", "long", nullable=False)
)
"""One payment. `card` is a token, never a card number."""

RULES = StructType().add("limit_cents", "long").add("blocked", "boolean")
"""
The value of a rule record. The key of the record is the country.

If the rule of a country is unreadable or has no limit, each payment from this country is flagged.
"""

FLAGS = """concat_ws(',',
    if(rule.blocked, 'country_blocked', if(rule.limit_cents is null, 'no_rule', null)),
    if(record.amount_cents > rule.limit_cents, 'over_limit', null))"""


def payments_to_flagged(payments: DataFrame, rules: DataFrame) -> DataFrame:
    """
    Convert Kafka source rows of payments and rules to Kafka sink rows, one for each payment.

    The field `flags` of a payment contains the names of its flags, joined by commas.
    """
    decoded = decode(payments, PAYMENTS, ids=("payment_id", "card"))
    table = F.broadcast(newest(rules, RULES, "rule"))
    flagged = decoded.join(table, F.col("record.country") == F.col("rule_key"), "left").withColumn(
        "flags", F.expr(FLAGS)
    )
    fields = (F.col(f"record.{name}") for name in PAYMENTS.names)
    return route(
        flagged,
        "payments-rejected",
        key=F.col("record.card"),
        value=F.to_json(F.struct(*fields, "flags")),
        topic=F.when(F.col("flags") == "", "payments-passed").otherwise("payments-flagged"),
    )


JOB = Job(
    payments_to_flagged,
    "Flag card payments by the rules of their country: payments + payment-rules -> payments-flagged.",
    reads=("payments", "payment-rules"),
    writes=("payments-flagged", "payments-passed", "payments-rejected"),
)
