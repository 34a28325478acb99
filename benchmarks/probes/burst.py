"""
Find the utilization at which a real-time query with state can absorb a burst.

The benchmark first raises the rate until the query falls behind. Utilization is a share of the last rate before that.
Then the benchmark sends records at this utilization, at a multiple of it during the burst, and at the same utilization
again. Latency is the append time of a result minus that of its record, by the broker's clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from confluent_kafka import Message
from pyspark.sql import functions as F
from rich.console import Console

from benchmarks.harness.benchmark import BenchmarkOptions, Outcome
from benchmarks.harness.plan import MAX_FINAL_MS
from benchmarks.probes.probe import PARTITIONS, Bench, appended_ms, bench, outcome_with, send_all, when_due
from spark_rtm.measure.percentiles import percentiles

KEYS = 1_000
SLICE_SECONDS = 0.01
"""Records due within this time are sent together, because a wait before each record would take too much CPU time."""
FACTOR, FIRST_RATE = 1.15, 3_000.0
STEP_SHARE = 0.6
"""Duration of a search step relative to a burst."""
HASHES = 1_000
"""Number of hashes per record. Without this work, the query sustains more than the sender can send."""
MAX_PEAK_PERCENT = 200
MIN_NORMAL_MS = 50.0
"""Minimum limit for the p99 of a normal second. The p99 of a quiet second is a few milliseconds."""
Times = npt.NDArray[np.int64]
Phase = tuple[float, float]
"""Duration in seconds, and records per second."""
PRESETS = {"quick": {"duration": 4, "after": 6, "utilization": (50,), "burst": (2,)}}


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    duration: float = 10
    """Duration in seconds of each burst, of the traffic before it, and of each search step."""
    after: float = 12
    """Seconds of records after a burst."""
    steps: int = 6
    """Maximum number of rates that the search tries."""
    utilization: tuple[int, ...] = (30, 50, 70, 90)
    """Share of the sustained rate in percent (repeatable)."""
    burst: tuple[int, ...] = (2, 3)
    """Multiple of the rate during a burst (repeatable). Bursts above twice the sustained rate are omitted."""


def measure(options: Options, console: Console) -> Outcome:
    """Print p99 before, during and after each burst, the backlog, and the seconds until the latency is normal again."""
    rows, seconds, step = list[dict[str, Any]](), options.duration, STEP_SHARE * options.duration
    with bench("burst", slots=2 * PARTITIONS, shuffle_partitions=PARTITIONS) as place:
        rates = [round(FIRST_RATE * FACTOR**number) for number in range(options.steps)]
        run(place, [(seconds, FIRST_RATE)])  # the JVM compiles the code
        sustained = highest_sustained(*run(place, [(step, rate) for rate in rates]), rates, step)
        console.print(f"sustained: {sustained} of {rates}")
        pairs = [(burst, percent) for burst in options.burst for percent in options.utilization]
        for burst, percent in (pair for pair in pairs if pair[0] * pair[1] <= MAX_PEAK_PERCENT):
            rate = sustained * percent / 100
            times = run(place, [(seconds, rate), (seconds, burst * rate), (options.after, rate)])
            rows.append({"utilization": percent, "burst": burst, "rate": rate, **digested(*times, options)})
            console.print(rows[-1])
    problems = [f"records were sent {row['sent_late_seconds']} s late" for row in rows if row["sent_late_seconds"] > 1]
    if sustained == rates[-1]:
        problems.append(f"the query sustains all rates up to {sustained} records/s; raise --steps")
    return outcome_with(console, "burst", {"sustained": sustained, "burst_seconds": seconds, "rows": rows}, problems)


def run(place: Bench, phases: Sequence[Phase]) -> tuple[Times, Times]:
    """Send records to a new query, and return the append times (ms; 0 if not appended) of records and their results."""
    topic, target = place.topics("records", "counted")
    key, value = (F.col(name).cast("string") for name in ("key", "value"))
    rows = place.records(topic).select(key, value.cast("long").alias("number"))
    hashed = F.aggregate(F.sequence(F.lit(1), F.lit(HASHES)), F.col("key"), lambda text, _: F.sha2(text, 256))
    rows = rows.withColumn("hashed", hashed)
    counts = rows.groupBy("key").agg(*(F.max(name).alias(name) for name in ("number", "hashed")))
    results = counts.select("key", F.concat_ws(" ", "number", "hashed").alias("value"))
    begins = np.cumsum([0.0, *(seconds for seconds, _ in phases)])
    due = [
        at + n / rate for at, (seconds, rate) in zip(begins, phases, strict=False) for n in range(round(rate * seconds))
    ]
    records = ((at, (topic, str(n), str(n % KEYS), n % PARTITIONS)) for n, at in enumerate(due))
    with place.query(results, target, {"realTime": "5 minutes"}, linger_ms=5) as query:
        send_all(place.servers, when_due(records, SLICE_SECONDS), query, linger_ms=2, drain_seconds=2)
    times = (appended_ms(place.servers, name, _number) for name in (topic, target))
    appended, answered = (np.array([found.get(number, 0) for number in range(len(due))]) for found in times)
    return appended, answered


def _number(message: Message) -> int:
    return int((message.value() or b"").split()[0])


def digested(appended: Times, answered: Times, options: Options) -> dict[str, Any]:
    """Return p99 before and during a burst, the backlog, and the seconds until p99 is normal again (None if never)."""
    start_ms, end_ms = int(appended[0]), max(int(appended.max()), int(answered.max())) + 1
    due = (appended - start_ms) // 1000
    # A record without a result waits at least until the end.
    waits = np.where(answered > 0, answered, end_ms) - appended
    seconds = int(2 * options.duration + options.after)
    p99 = [max(percentiles(waits[due == second], [0.99]), default=0.0) for second in range(seconds)]
    marks = start_ms + 1000 * np.arange(1, seconds + 1)
    results = np.searchsorted(np.sort(answered[answered > 0]), marks)
    first, end = int(options.duration), int(2 * options.duration)
    normal_ms = float(np.median(p99[first // 2 : first]))
    late = [second for second in range(end, seconds) if p99[second] > max(MIN_NORMAL_MS, 2 * normal_ms)]
    recovered = late[-1] + 1 - end if late else 0
    return {
        "sent_late_seconds": round((int(appended.max()) - start_ms) / 1000 - seconds, 1),
        "normal_p99_ms": round(normal_ms),
        "burst_p99_ms": round(percentiles(waits[(due >= first) & (due < end)], [0.99])[0]),
        "max_ms": int(waits[due >= first].max()),
        "max_backlog": int((np.searchsorted(np.sort(appended), marks) - results)[first:].max()),
        "seconds": recovered if recovered < options.after else None,
    }


def highest_sustained(appended: Times, answered: Times, rates: Sequence[int], seconds: float) -> int:
    """Return the last rate before the first rate at which the final median latency exceeds `MAX_FINAL_MS`."""
    begin = 0
    for number, rate in enumerate(rates):
        begin += round(rate * seconds)
        part = slice(begin - round(rate * seconds / 4), begin)
        waits = np.where(answered[part] > 0, answered[part] - appended[part], 2 * MAX_FINAL_MS)
        if np.median(waits) > MAX_FINAL_MS:
            return rates[max(0, number - 1)]
    return rates[-1]
