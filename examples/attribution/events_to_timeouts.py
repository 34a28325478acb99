"""
Emit timeouts: results for unfilled ad slots, and for impressions, clicks and playback steps without a parent.

A timeout has the same result id as the pending result that it replaces. A later match has a higher version, so the
match replaces the timeout.

OSS 4.3.0 rejects Python processors in real-time mode (STDS_FAILED_TO_READ_OPERATOR_METADATA), so by default this query
runs in micro-batch mode. With ticks, it runs in real-time mode: `spark_rtm.realtime.python_state` calls the processor,
and each tick fires the due timers. Databricks runs Python processors in real-time mode.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from examples.attribution.correlation.processor import CorrelationProcessor
from examples.attribution.correlation.rule import HISTORY
from examples.attribution.correlation.sql import ATTRIBUTED
from examples.attribution.schemas import EVENTS
from examples.attribution.settings import Settings
from spark_rtm.realtime.python_state import transform_with_state

KEYS = ("transaction_id", "request_ts")


def events_to_timeouts(records: DataFrame, settings: Settings, ticks: DataFrame | None = None) -> DataFrame:
    """
    Convert Kafka source rows of `events` into Kafka sink rows with `ATTRIBUTED` structs as JSON.

    With ticks, start the query in real-time mode, in a session that has loaded the classes of `python_state`. Each tick
    fires the due timers.
    Without ticks, start the query with a micro-batch trigger. Batches then fire the due timers even if there are no new
    records. The exception is a restart between two batches: Spark plans no batch, and no timer fires, before the next
    record arrives.

    `watermark_slack_ms` must exceed this query's maximum lag. Otherwise the state of a request can expire before
    the query reads late records of the request. These records then get orphan results, whose versions are higher than
    those of the matched results.
    """
    events = records.select(F.from_json(F.col("value").cast("string"), EVENTS).alias("event")).select("event.*")
    history = events.where("transaction_id is not null").select(*HISTORY)
    processor = CorrelationProcessor(settings.windows, settings.watermark_slack_ms)
    if ticks is None:
        results = history.groupBy(*KEYS).transformWithState(processor, ATTRIBUTED, "update", "processingTime")
    else:
        results = transform_with_state(history, KEYS, processor, ATTRIBUTED, ticks)
    return results.select(
        F.col("result_id").cast("binary").alias("key"), F.to_json(F.struct("*")).cast("binary").alias("value")
    )
