"""
Emit timeouts: slots that stay unfilled, and impressions, clicks and playback steps that stay orphans.

The results have the ids of the real-time query, and any match found later has a higher version. OSS 4.3.0 refuses
Python processors in real-time mode with STDS_FAILED_TO_READ_OPERATOR_METADATA, so this query runs in micro-batch mode;
Databricks runs them in real-time mode.
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

    Start it with a micro-batch trigger; timers fire once per interval, also without input. After a restart between two
    batches, timers wait for the next record, because the engine plans no batch before it.
    `watermark_slack_ms` must exceed the maximum lag of this query. Otherwise the state of a request can end before its
    late records are read, and these become orphans with higher versions than their matches.
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
