"""
Decide what time alone decides: slots that stay unfilled, and impressions, clicks and steps that stay orphans.

What arrives are records of `events`; what leaves are results for `ad-attributed`, with the ids of the real-time query
beside this one and versions that any match found later exceeds.
Real-time mode demands Databricks here: open-source Spark 4.3 refuses Python processors in it with
STDS_FAILED_TO_READ_OPERATOR_METADATA, so that this query runs in micro-batch.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from examples.attribution.correlation.processor import CorrelationProcessor
from examples.attribution.correlation.sql import HISTORY
from examples.attribution.events import EVENTS
from examples.attribution.results import ATTRIBUTED
from examples.attribution.settings import Settings


def events_to_timeouts(records: DataFrame, settings: Settings) -> DataFrame:
    """
    Turn Kafka source rows of `events` into Kafka sink rows (key, value) of `ATTRIBUTED` structs as JSON.

    Start it with a micro-batch trigger: the interval is how often timers are looked at, with input or without; but
    after a restart between two batches they wait for the next record, because the engine plans no batch before it.
    `watermark_slack_ms` must exceed how far this query may fall behind: without the state of a request that has ended,
    two late records of its transaction would be called orphans above their matches.
    """
    events = records.select(F.from_json(F.col("value").cast("string"), EVENTS).alias("event")).select("event.*")
    results = (
        events.where("transaction_id is not null")
        .select(*HISTORY)
        .groupBy("transaction_id", "request_ts")
        .transformWithState(CorrelationProcessor(settings, only_due=True), ATTRIBUTED, "update", "processingTime")
    )
    return results.select(
        F.col("result_id").cast("binary").alias("key"), F.to_json(F.struct("*")).cast("binary").alias("value")
    )
