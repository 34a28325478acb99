"""
Emit timeouts: results for slots that stay unfilled, and for impressions, clicks and playback steps that stay orphans.

A timeout has the result id of the pending result that it replaces, and a later match has a higher version. OSS 4.3.0
refuses Python processors in real-time mode with the error STDS_FAILED_TO_READ_OPERATOR_METADATA, so this query runs in
micro-batch mode. Databricks runs Python processors in real-time mode.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from examples.attribution.correlation.processor import CorrelationProcessor
from examples.attribution.correlation.rule import HISTORY
from examples.attribution.schemas import ATTRIBUTED, EVENTS
from examples.attribution.settings import Settings


def events_to_timeouts(records: DataFrame, settings: Settings) -> DataFrame:
    """
    Turn Kafka source rows of `events` into Kafka sink rows (key, value) of `ATTRIBUTED` structs as JSON.

    Start the query with a micro-batch trigger. Timers fire once per interval, even if no record arrives. After a
    restart between two batches, timers do not fire until the next record arrives, because the engine plans no batch
    before that record.
    `watermark_slack_ms` must exceed the maximum lag of this query. Otherwise the state of a request can expire before
    its late records are read. These records then get orphan results with higher versions than their matched results.
    """
    events = records.select(F.from_json(F.col("value").cast("string"), EVENTS).alias("event")).select("event.*")
    results = (
        events.where("transaction_id is not null")
        .select(*HISTORY)
        .groupBy("transaction_id", "request_ts")
        .transformWithState(CorrelationProcessor(settings, timeouts_only=True), ATTRIBUTED, "update", "processingTime")
    )
    return results.select(
        F.col("result_id").cast("binary").alias("key"), F.to_json(F.struct("*")).cast("binary").alias("value")
    )
