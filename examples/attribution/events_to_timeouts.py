"""
Emit timeouts: results for ad slots that stay unfilled, and for impressions, clicks and playback steps without a parent.

A timeout has the same result id as the pending result that it replaces. A later match has a higher version, so it
replaces the timeout.

OSS 4.3.0 refuses Python processors in real-time mode with the error STDS_FAILED_TO_READ_OPERATOR_METADATA, so this
query runs in micro-batch mode, or with ticks in real-time mode by way of `spark_rtm.realtime.python_state`. Databricks
runs Python processors in real-time mode.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from examples.attribution.correlation.processor import CorrelationProcessor
from examples.attribution.correlation.schemas import ATTRIBUTED, HISTORY
from examples.attribution.schemas import EVENTS
from examples.attribution.settings import Settings
from spark_rtm.realtime.python_state import transform_with_state

KEYS = ("transaction_id", "request_ts")


def events_to_timeouts(records: DataFrame, settings: Settings, ticks: DataFrame | None = None) -> DataFrame:
    """
    Convert Kafka source rows of `events` into Kafka sink rows (key, value) with `ATTRIBUTED` structs as JSON.

    With ticks, start the query in real-time mode, in a session with the classes of `python_state`; timers fire with
    each tick. Without ticks, start it with a micro-batch trigger. Timers fire once per trigger interval, even if no
    record arrives. If the query restarts between two batches, timers do not fire until the next record arrives, because
    the engine plans no batch before that record.

    `watermark_slack_ms` must exceed this query's maximum lag. Otherwise a request's state can expire before the query
    has read the request's late records. These records then get orphan results with higher versions than the matched
    results for the same records.
    """
    events = records.select(F.from_json(F.col("value").cast("string"), EVENTS).alias("event")).select("event.*")
    history = events.where("transaction_id is not null").select(*HISTORY)
    processor = CorrelationProcessor(settings, timeouts_only=True)
    if ticks is None:
        results = history.groupBy(*KEYS).transformWithState(processor, ATTRIBUTED, "update", "processingTime")
    else:
        results = transform_with_state(history, KEYS, processor, ATTRIBUTED, ticks)
    return results.select(
        F.col("result_id").cast("binary").alias("key"), F.to_json(F.struct("*")).cast("binary").alias("value")
    )
