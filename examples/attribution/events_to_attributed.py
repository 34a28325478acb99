"""
Correlate the events of each transaction, and emit every result that a new event changes.

In real-time mode, an aggregation emits one output row per input row. The state keeps the events in order of arrival.
For each new event, the query evaluates the transaction with and without this event, and emits the results that differ.

The query reads only what `kafka_to_events` writes, so it does not validate records again. Without that query in front
of it, a record could end it.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from examples.attribution.correlation.schemas import HISTORY
from examples.attribution.correlation.sql import changes_of, results_of
from examples.attribution.schemas import EVENTS
from examples.attribution.settings import Settings


def events_to_attributed(records: DataFrame, settings: Settings) -> DataFrame:
    """
    Convert Kafka source rows of `events` into Kafka sink rows (key, value) with `ATTRIBUTED` structs as JSON.

    In micro-batch mode, one output row can cover several events, so a comparison without the newest event would miss
    changes. The query therefore emits every result of the transaction. A request's state expires when the query has
    read a request that is newer by `horizon_ms + watermark_slack_ms`. From then on, no event can change the results of
    the older request.
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
