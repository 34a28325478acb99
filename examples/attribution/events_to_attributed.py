"""
Correlate the events of each transaction, and emit every result that a new event changes.

In real-time mode, an aggregation emits one output row per input row. The state contains only the first `max_events`
events that arrive. Each further event gets its own result, so the state does not grow.
For each new event, the query evaluates the transaction with and without this event, and emits the results that differ.

The query reads only records written by `kafka_to_events`, so it does not validate these records again. Records from
other writers could make the query fail.
"""

from pyspark.sql import DataFrame, GroupedData
from pyspark.sql import functions as F

from examples.attribution.correlation.rule import HISTORY
from examples.attribution.correlation.sql import changes_of, results_of
from examples.attribution.correlation.windows import Windows
from examples.attribution.schemas import EVENTS
from examples.attribution.settings import Settings


def events_to_attributed(records: DataFrame, settings: Settings) -> DataFrame:
    """
    Convert Kafka source rows of `events` into Kafka sink rows with `ATTRIBUTED` structs as JSON.

    The state of a request expires when the query has read another request whose time is later by
    `horizon_ms + watermark_slack_ms`. From then on, no event can change the results of the expired request.
    """
    delay_ms = settings.windows.horizon_ms + settings.watermark_slack_ms
    event = F.from_json(F.col("value").cast("string"), EVENTS).alias("event")
    arrival = F.struct("timestamp", "partition", "offset").alias("arrival")
    transactions = (
        records.select(event, arrival)
        .select("event.*", "arrival")
        .where("transaction_id is not null")
        .withColumn("requested_at", F.timestamp_millis("request_ts"))
        .withWatermark("requested_at", f"{delay_ms} milliseconds")
        .groupBy("transaction_id", "requested_at")
    )
    results_per_row = changes_per_row if settings.trigger == "real-time" else all_results_per_row
    return results_per_row(transactions, settings.windows).select(
        F.col("result.result_id").cast("binary").alias("key"), F.to_json("result").cast("binary").alias("value")
    )


def changes_per_row(transactions: GroupedData, windows: Windows) -> DataFrame:
    """
    Return the results that each event changes.

    The state contains only the first `max_events` events, the last event, and the number of events.
    """
    history = F.struct(*HISTORY)
    first = F.min_by(history, "arrival", windows.max_events).alias("first")
    rows = transactions.agg(first, F.last(history).alias("last"), F.count("*").alias("events"))
    changes = changes_of(F.col("first"), F.col("last"), F.col("events"), windows)
    return rows.select(F.explode(changes).alias("result"))


def all_results_per_row(transactions: GroupedData, windows: Windows) -> DataFrame:
    """
    Return all results of each transaction. The state keeps every event of the transaction.

    In micro-batch mode, one output row can cover several new events. A comparison with and without the newest event
    would miss the changes that the other events cause.
    """
    rows = transactions.agg(F.collect_list(F.struct(*HISTORY)).alias("history"))
    return rows.select(F.explode(results_of(F.col("history"), windows)).alias("result"))
