"""
Compare two stores for one count per key: RocksDB state and a PostgreSQL table.

A real-time query and a consumer without Spark count the same topic at the same time. Latency ends when Kafka appends a
result, or when PostgreSQL commits a count.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import psycopg
from confluent_kafka import Message
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from benchmarks.harness.benchmark import BenchmarkOptions, Outcome
from benchmarks.probes import state_table
from benchmarks.probes.probe import (
    PARTITIONS,
    Bench,
    Record,
    appended_ms,
    bench,
    latencies,
    outcome_of,
    produce,
    send_all,
    when_due,
    written,
)
from spark_rtm.measure.cpu import tree_seconds
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services import LocalPostgres, running

DRAIN_SECONDS, LOAD_SECONDS, LOAD_LINGER_MS = 3, 120, 20
PRESETS = {"quick": {"duration": 3, "keys": (1_000,), "load": 20_000, "interval_seconds": 5}}


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    keys: tuple[int, ...] = (10, 1_000, 100_000, 1_000_000)
    """Numbers of keys, one case each."""
    duration: float = 30
    """Seconds of measured records per case."""
    rate: float = 1_000
    """Records per second."""
    load: int = 100_000
    """Records before the measured ones; at least one per key."""
    interval_seconds: int = 15
    """Trigger interval of real-time mode in seconds, at least 5."""


def records(topic: str, keys: int, numbers: Iterable[int]) -> Iterator[Record]:
    """Yield records with these numbers."""
    return ((topic, str(number), str(number % keys), number % keys % PARTITIONS) for number in numbers)


def _counted(keys: int, message: Message) -> int:
    """Return the number of the record that produced this result."""
    return (int(message.value() or b"0") - 1) * keys + int(message.key() or b"0")


def _case(place: Bench, server: LocalPostgres, options: Options, keys: int) -> dict[str, Any]:
    load = max(options.load, keys)
    numbers = range(load, load + int(options.rate * options.duration))
    topic, target = place.topics("counted", "counts")
    produce(place.servers, records(topic, keys, range(load)), LOAD_LINGER_MS)
    consumer, latencies = state_table.start_counting(place.servers, topic, server.dsn, state_table.GUARDED, load)
    counts = place.records(topic).select(F.col("key").cast("string")).groupBy("key").count()
    rows = counts.select("key", F.col("count").cast("string").alias("value"))
    with psycopg.connect(server.dsn, autocommit=True) as table:
        table.execute(state_table.TABLES)
        with place.query(rows, target, {"realTime": f"{options.interval_seconds} seconds"}) as query:
            rates = [_rate(lambda: written(place.servers, target), load)]
            consumer.start()
            done = "select sum(next_offset) from counts_offsets"
            rates.append(_rate(lambda: int(state_table.single(table, done)), load))
            before = _cpu_seconds(place.spark, server, consumer.pid or 0)
            due = when_due((at / options.rate, record) for at, record in enumerate(records(topic, keys, numbers)))
            send_all(place.servers, due, query, drain_seconds=DRAIN_SECONDS)
            after = _cpu_seconds(place.spark, server, consumer.pid or 0)
        table_ms = latencies.recv()
        state = sum(f.stat().st_size for f in (place.folder / target / "state").rglob("*") if f.is_file())
        size = [state, int(state_table.single(table, "select pg_total_relation_size('counts')"))]
        wrong = abs(int(state_table.single(table, state_table.SUM)) - numbers.stop)
    sent_ms = appended_ms(place.servers, topic, lambda message: int(message.value() or b""))
    found_ms = appended_ms(place.servers, target, partial(_counted, keys))
    spark_ms = [found_ms[number] - sent_ms[number] for number in numbers if number in found_ms]
    missing = 2 * len(numbers) - len(spark_ms) - len(table_ms) + wrong
    ms_per_record = [round(1_000 * (end - begin) / len(numbers), 2) for begin, end in zip(before, after, strict=True)]
    measured = {"keys": keys, "spark_ms": spark_ms, "table_ms": table_ms, "missing": missing}
    return measured | {"rows_per_second": rates, "cpu_ms": ms_per_record, "bytes": size}


def _cpu_seconds(spark: SparkSession, server: LocalPostgres, consumer: int) -> list[float]:
    jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr] # noqa: SLF001
    return [tree_seconds(pid) for pid in (jvm, server.child.pid if server.child else 0, consumer)]


def _rate(done: Callable[[], int], total: int) -> int:
    """Wait until `total` records are counted, and return the records per second since the first count."""
    wait_until(lambda: bool(done()), LOAD_SECONDS, "a first count")
    started, first = time.monotonic(), done()
    wait_until(lambda: done() >= total, LOAD_SECONDS, f"{total} counts")
    return round((total - first) / (time.monotonic() - started))


def measure(options: Options, console: Console) -> Outcome:
    """Return the latency, CPU time and size of both stores. Missing records and incorrect totals are problems."""
    with running(LocalPostgres()) as server, bench("state-stores", shuffle_partitions=PARTITIONS) as place:
        cases = [_case(place, server, options, keys) for keys in options.keys]
        [topic] = place.topics("killed")
        produce(place.servers, records(topic, 1_000, range(options.load)), LOAD_LINGER_MS)
        arms = {"bare": state_table.INCREMENT, "guarded": state_table.GUARDED}
        extra = {
            arm: state_table.counted_twice(place.servers, topic, server.dsn, statement, options.load)
            for arm, statement in arms.items()
        }
    problems = [f"{case['missing']} counts of {case['keys']} keys are missing" for case in cases if case["missing"]]
    problems += ["a guarded table counted records twice"] if extra["guarded"] else []
    values = list(chain(*(case["spark_ms"] for case in cases)))
    for case in cases:
        for name in ("spark_ms", "table_ms"):
            case[name] = [round(value, 1) for value in latencies(case[name]).values()]
    others = {"rate": options.rate, "interval_seconds": options.interval_seconds, "load": options.load}
    expected = int(options.rate * options.duration) * len(cases)
    return outcome_of(console, "state-stores", values, expected, problems, cases=cases, counted_twice=extra, **others)
