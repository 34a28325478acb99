"""
Measure the latency of a stream-stream join in OSS real-time mode.

Latency is the append time of a pair minus that of its second record. Missing or incorrect pairs invalidate the run.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.console import Console

from benchmarks.harness.benchmark import BenchmarkOptions, Outcome
from benchmarks.probes.probe import PARTITIONS, Record, appended_ms, outcome_of, probe_run, send_all, when_due
from spark_rtm.realtime.joins import TimeBound, inner_join
from spark_rtm.realtime.slots import preflight

BOUND = TimeBound(within_seconds=60, lateness_seconds=60)
GAP_RECORDS = 200
"""Number of further impressions between an impression and its click."""
PRESETS = {"quick": {"duration": 9, "warm_up_seconds": 12, "interval_seconds": 5}}


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    duration: float = 60
    """Seconds of measured records after the warm-up."""
    warm_up_seconds: float = 40
    """Seconds of records before the measurement."""
    rate: float = 200
    """Impressions per second, with one click each."""
    interval_seconds: int = 15
    """Trigger interval of real-time mode in seconds, at least 5."""


def measure(options: Options, console: Console) -> Outcome:
    """Return the latency of the pairs."""
    with probe_run("joins") as place:
        topics = place.topics("impressions", "clicks", "joined")
        left, right = (_side(place.records(topic)) for topic in topics[:2])
        rows = inner_join(left, right, BOUND).select("key", F.col("right.row").alias("value"))
        preflight(place.spark, {"joined": (rows, 2 * PARTITIONS)})
        console.print(f"measuring for {options.warm_up_seconds + options.duration:g} s ...")
        with place.query(rows, topics[2], {"realTime": f"{options.interval_seconds} seconds"}) as query:
            send_all(place.servers, _records(topics, options), query)
        values, missing = latencies_ms(place.servers, topics, int(options.rate * options.warm_up_seconds))
    load = {"rate": options.rate, "interval_seconds": options.interval_seconds}
    return outcome_of(console, "joins", values, len(values) + missing, [], **load)


def _side(records: DataFrame) -> DataFrame:
    event = F.from_json(F.col("value").cast("string"), "at_ms long")
    return records.select(
        F.col("key").cast("string"), F.timestamp_millis(event.at_ms).alias("at"), F.col("topic").alias("row")
    )


def _records(topics: Sequence[str], options: Options) -> Iterator[Record]:
    numbers = range(int(options.rate * (options.warm_up_seconds + options.duration)))
    for number in when_due((number / options.rate, number) for number in numbers):
        value = json.dumps({"at_ms": int(time.time() * 1000)})
        yield topics[0], value, str(number)
        if number >= GAP_RECORDS:
            yield topics[1], value, str(number - GAP_RECORDS)


def latencies_ms(servers: str, topics: Sequence[str], first_number: int) -> tuple[list[int], int]:
    """Return the latency of the first result of each pair from `first_number` on, and the number of missing pairs."""
    appended = [appended_ms(servers, topic, lambda message: int(message.key() or b"")) for topic in topics]
    written, expected = appended[2], appended[0].keys() & appended[1].keys()
    if wrong := written.keys() - expected:
        raise RuntimeError(f"{len(wrong)} pairs were written that do not exist, for example {min(wrong)}")
    measured = [n for n in expected if n >= first_number]
    values = [written[n] - max(appended[0][n], appended[1][n]) for n in measured if n in written]
    return values, len(measured) - len(values)
