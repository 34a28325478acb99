"""
Emit timeouts: results for ad slots that stay unfilled, and for impressions, clicks and playback steps without a parent.

A timeout has the same result id as the pending result that it replaces. A later match has a higher version, so it
replaces the timeout.

OSS 4.3.0 refuses Python processors in real-time mode with the error STDS_FAILED_TO_READ_OPERATOR_METADATA, so this
query runs in micro-batch mode. Databricks runs Python processors in real-time mode.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from examples.attribution.correlation.processor import CorrelationProcessor
from examples.attribution.correlation.schemas import ATTRIBUTED, HISTORY
from examples.attribution.schemas import EVENTS
from examples.attribution.settings import Settings


def events_to_timeouts(records: DataFrame, settings: Settings) -> DataFrame:
    """
    Convert Kafka source rows of `events` into Kafka sink rows (key, value) with `ATTRIBUTED` structs as JSON.

    Start the query with a micro-batch trigger. Timers fire once per trigger interval, even if no record arrives. If the
    query restarts between two batches, timers do not fire until the next record arrives, because the engine plans no
    batch before that record. `watermark_slack_ms` must exceed this query's maximum lag. Otherwise a request's state can
    expire before the query has read the request's late records. These records then get orphan results with higher
    versions than the matched results for the same records.
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
