"""Each alarm is forwarded once, even if it is repeated in a later batch, and the state expires."""

import json

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evals.stage import Answer, require, require_same, trial, written_by, wrong
from spark_rtm.prove.engine import Bench
from spark_rtm.testing.records import Sent

START_MS = 1_700_000_000_000
DAY_MS = 86_400_000
INTERVAL_MS = 1_000


def alarm(name: str, day: int = 0) -> Sent:
    """Return an alarm whose time depends only on its name and its day."""
    value = {"id": name, "at": START_MS + day * DAY_MS + sum(name.encode())}
    return Sent(json.dumps(value).encode(), name.encode())


def verify(bench: Bench, answer: Answer) -> None:
    """Repeat alarms within a batch and in the next batch, then advance the event time by days."""
    first = [alarm(f"a{number}") for number in range(5)]
    with trial(bench, answer, "alarms") as run:
        query = run.start("query", INTERVAL_MS)
        written = written_by(run, query, [*first, *first])
        written += written_by(run, query, [*first, alarm("b")])
        sent = [*first, alarm("b")]
        for day in (10, 20, 30):
            sent += [alarm(f"c{day}", day)]
            written += written_by(run, query, [alarm(f"c{day}", day)])
        require_same([record.value for record in sent], [record.value for record in written], "alarms")
        progress = query.recentProgress
        removed = sum(operator.numRowsRemoved for event in progress for operator in event.stateOperators)
        rows = sum(operator.numRowsTotal for operator in progress[-1].stateOperators)
        require(removed, f"{rows} rows of state never expire: event time advanced by 30 days, but no row was removed")


def alarms(records: DataFrame) -> DataFrame:
    """Return the columns `key`, `value`, `id`, `at` and `timestamp` with a watermark on `at`."""
    alarm = F.from_json(F.col("value").cast("string"), "id string, at long")
    rows = records.select("key", "value", "timestamp", alarm.alias("alarm"))
    timed = rows.select("key", "value", "timestamp", "alarm.id", F.timestamp_millis("alarm.at").alias("at"))
    return timed.withWatermark("at", "10 minutes")


def right(records: DataFrame) -> DataFrame:
    """Deduplicate by id and event time, so the watermark removes the state."""
    return alarms(records).dropDuplicates(["id", "at"]).select("key", "value")


@wrong(r"rows of state never expire")
def only_id(records: DataFrame) -> DataFrame:
    """Deduplicate by id alone, so the state never expires, despite the watermark."""
    return alarms(records).dropDuplicates(["id"]).select("key", "value")


@wrong(r"surplus alarms")
def append_time(records: DataFrame) -> DataFrame:
    """Deduplicate by id and the record's Kafka timestamp, which differs for each repetition."""
    alarm = F.from_json(F.col("value").cast("string"), "id string, at long")
    rows = records.select("key", "value", "timestamp", alarm.getField("id").alias("id"))
    return rows.withWatermark("timestamp", "10 minutes").dropDuplicates(["id", "timestamp"]).select("key", "value")
