"""Write a notice of each urgent event for the lift's contact. `notify` sends the notices."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from examples.alerts.decoding import decode, newest, route
from examples.alerts.job import Job

LIFTS = StructType([StructField(name, StringType(), nullable=False) for name in ("event_id", "lift_id", "code")])
"""One event of a lift, such as `trapped`, `door` or `inspected`."""

CONTACTS = StructType().add("site", "string").add("to", "string").add("urgent", ArrayType(StringType()))
"""
The value of a record in `lift-contacts`: the lift's site, an e-mail address, and the urgent codes.

The key of the record is the lift. If a lift has no readable contact, each of its events is urgent. The notice then has
no `to`, so `notify` sends it to the operators.
"""


def lifts_to_notices(lifts: DataFrame, contacts: DataFrame) -> DataFrame:
    """Convert Kafka source rows of events and contacts to Kafka sink rows of notices and rejected records."""
    table = F.broadcast(newest(contacts, CONTACTS, "contact"))
    decoded = decode(lifts, LIFTS, ids=LIFTS.names)
    known = decoded.join(table, F.col("record.lift_id") == F.col("contact_key"), "left")
    is_urgent = F.coalesce(F.array_contains("contact.urgent", F.col("record.code")), F.lit(True))
    return route(
        known.where(F.col("reason").isNotNull() | is_urgent),
        "lifts-rejected",
        key=F.col("record.event_id"),
        value=F.to_json(F.struct(*(F.col(f"record.{name}") for name in LIFTS.names), "contact.site", "contact.to")),
        topic=F.lit("lifts-notices"),
    )


JOB = Job(
    lifts_to_notices,
    "Notify a lift's contact of each urgent event: lifts + lift-contacts -> lifts-notices.",
    reads=("lifts", "lift-contacts"),
    writes=("lifts-notices", "lifts-rejected"),
)
