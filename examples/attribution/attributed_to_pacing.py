"""
Count each campaign's delivered and reserved ad slots, and emit a new count for each change.

The state contains all versions of each ad slot's result. The query counts only the newest version, so duplicate and
out-of-order records do not affect the counts. If an ad slot changes from `filled` to `unfilled`, the campaign's
delivered count decreases.

The query reads only records that the pipeline's own queries wrote, so it does not validate these records again.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from examples.attribution.correlation.sql import ATTRIBUTED
from examples.attribution.pacing.rule import CampaignCount, bucket_length_ms
from examples.attribution.schemas import struct_of
from examples.attribution.settings import Settings

PACING = StructType([StructField("result_id", StringType()), *struct_of(CampaignCount)])
"""
Schema of one count. For each result id, only the count with the highest version is valid.

    {"result_id": "run-campaign-0/1767225577000/0", "campaign_id": "run-campaign-0", "bucket_ts": 1767225577000,
     "shard": 0, "version": 36, "slots": 3, "delivered": 1, "reserved": 2}
"""


def attributed_to_pacing(records: DataFrame, settings: Settings) -> DataFrame:
    """
    Convert Kafka source rows of `ad-attributed` into Kafka sink rows with `PACING` structs as JSON.

    The state of a request-time bucket expires when `events_to_attributed` starts to drop all further events of the
    bucket's requests. Later rows of the bucket are dropped.
    """
    bucket_ms = bucket_length_ms(settings)
    delay_ms = settings.windows.horizon_ms + settings.watermark_slack_ms + bucket_ms
    results = records.select(F.from_json(F.col("value").cast("string"), ATTRIBUTED).alias("result")).select("result.*")
    buckets = (
        results.where("kind = 'slot'")
        .withColumn("shard", F.pmod(F.crc32("transaction_id"), F.lit(settings.pacing_shards)).cast("int"))
        .withColumn("bucket_at", F.timestamp_millis(F.col("request_ts") - F.pmod("request_ts", F.lit(bucket_ms))))
        .withWatermark("bucket_at", f"{delay_ms} milliseconds")
        .groupBy("campaign_id", "bucket_at", "shard")
        .agg(F.collect_list(F.struct("result_id", "version", "code")).alias("versions"))
    )
    bucket_ts = F.unix_millis("bucket_at")
    group = {
        "result_id": F.concat_ws("/", "campaign_id", bucket_ts, "shard"),
        "campaign_id": F.col("campaign_id"),
        "bucket_ts": bucket_ts,
        "shard": F.col("shard"),
    }
    return buckets.select(
        group["result_id"].cast("binary").alias("key"),
        F.to_json(_count(F.col("versions"), group)).cast("binary").alias("value"),
    )


def _count(versions: Column, group: dict[str, Column]) -> Column:
    def add_slot(count: Column, slot: Column) -> Column:
        with_slot = F.struct(
            slot["result_id"].alias("slot_id"),
            (count["version"] + slot["version"]).alias("version"),
            (count["slots"] + 1).alias("slots"),
            (count["delivered"] + (slot["code"] == "filled").cast("long")).alias("delivered"),
            (count["reserved"] + (slot["code"] == "pending").cast("long")).alias("reserved"),
        )
        # Versions are sorted from newest to oldest, so the first version of each ad slot is the newest. Only this
        # version is counted.
        return F.when(slot["result_id"] == count["slot_id"], count).otherwise(with_slot)

    def row(count: Column) -> Column:
        return F.struct(*((group[name] if name in group else count[name]).alias(name) for name in PACING.names))

    zeros = (F.lit(0).cast("long").alias(name) for name in ("version", "slots", "delivered", "reserved"))
    empty_count = F.struct(F.lit("").alias("slot_id"), *zeros)
    # `aggregate` returns the whole output row. If separate columns selected the fields of the aggregate, Spark would
    # repeat the aggregation for each column.
    return F.aggregate(F.sort_array(versions, asc=False), empty_count, add_slot, row)
