"""
Count what each campaign has delivered and what it has promised, a row for every slot that changes.

What arrives are records of `ad-attributed`; what leaves are counts for `ad-pacing` by campaign, bucket and shard.
Real-time mode demands SQL expressions only: each group keeps every version of its slots and counts the newest, so that
repeats and order do not matter, and a slot that is restated lowers the count again.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from examples.attribution.pacing.rule import bucket_length_ms
from examples.attribution.results import ATTRIBUTED
from examples.attribution.settings import Settings

PACING = StructType(
    [
        StructField("result_id", StringType()),
        StructField("version", LongType()),
        StructField("campaign_id", StringType()),
        StructField("bucket_ts", LongType()),
        StructField("shard", IntegerType()),
        StructField("slots", LongType()),
        StructField("delivered", LongType()),
        StructField("reserved", LongType()),
    ]
)
"""One count, as `pacing_rule.CampaignCount`; the newest version of a result id counts."""


def attributed_to_pacing(records: DataFrame, settings: Settings) -> DataFrame:
    """
    Turn Kafka source rows of `ad-attributed` into Kafka sink rows (key, value) of `PACING` structs as JSON.

    A bucket ends when `events_to_attributed` would drop every event of its requests; what comes later is dropped too.
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
        F.to_json(_counted(F.col("versions"), group)).cast("binary").alias("value"),
    )


def _counted(versions: Column, group: dict[str, Column]) -> Column:
    def counted(known: Column, slot: Column) -> Column:
        with_slot = F.struct(
            slot["result_id"].alias("slot_id"),
            (known["version"] + slot["version"]).alias("version"),
            (known["slots"] + 1).alias("slots"),
            (known["delivered"] + (slot["code"] == "filled").cast("long")).alias("delivered"),
            (known["reserved"] + (slot["code"] == "pending").cast("long")).alias("reserved"),
        )
        # Newest first: the first version of a slot is the one that counts.
        return F.when(slot["result_id"] == known["slot_id"], known).otherwise(with_slot)

    def row(count: Column) -> Column:
        return F.struct(*((group[name] if name in group else count[name]).alias(name) for name in PACING.names))

    zeros = (F.lit(0).cast("long").alias(name) for name in ("version", "slots", "delivered", "reserved"))
    nothing = F.struct(F.lit("").alias("slot_id"), *zeros)
    # The row is made inside: a column that several others pick fields from would be folded anew for each of them.
    return F.aggregate(F.sort_array(versions, asc=False), nothing, counted, row)
