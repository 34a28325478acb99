"""
Correlate the events of each transaction, and emit every result that a new event changed.

What arrives are records of `events`; what leaves are results for `ad-attributed`, keyed by result id.
Real-time mode demands SQL expressions only, and emits one row per input row: the aggregation keeps the transaction's
events in arrival order, so the change is the difference between the results of all of them and of all but the newest.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from examples.attribution.correlation.sql import HISTORY, changes_of, results_of
from examples.attribution.events import EVENTS
from examples.attribution.settings import Settings


def events_to_attributed(records: DataFrame, settings: Settings) -> DataFrame:
    """
    Turn Kafka source rows of `events` into Kafka sink rows (key, value) of `ATTRIBUTED` structs as JSON.

    In micro-batch mode many events may share an output row, so that every result of the transaction is emitted.
    State ends `horizon_ms + watermark_slack_ms` behind the newest request, when no event can change it any more.
    """
    delay_ms = settings.windows.horizon_ms + settings.watermark_slack_ms
    events = records.select(F.from_json(F.col("value").cast("string"), EVENTS).alias("event")).select("event.*")
    histories = (
        events.where("transaction_id is not null")
        .withColumn("requested_at", F.timestamp_millis("request_ts"))
        .withWatermark("requested_at", f"{delay_ms} milliseconds")
        .groupBy("transaction_id", "requested_at")
        .agg(F.collect_list(F.struct(*HISTORY)).alias("history"))
    )
    one_row_per_event = settings.trigger == "real-time"
    results = changes_of if one_row_per_event else results_of
    return histories.select(F.explode(results(F.col("history"), settings.windows)).alias("result")).select(
        F.col("result.result_id").cast("binary").alias("key"), F.to_json("result").cast("binary").alias("value")
    )
