"""
Compare RocksDB state and a PostgreSQL table as the state of one count per key.

Run the benchmark with `make bench-state-stores`. A real-time query and a consumer without Spark count the same topic at
the same time. Latency ends with the append of a result, or with the commit of the table.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import psycopg
from confluent_kafka import Message, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import BenchmarkOptions
from benchmarks.probes import state_table
from benchmarks.probes.probe import (
    PARTITIONS,
    Bench,
    Record,
    bench,
    latency_text,
    machine_text,
    outcome_of,
    produce,
    send_all,
    when_due,
    written,
)
from spark_rtm.kafka.consumer import consumer_from_start, is_at_end, is_record
from spark_rtm.measure.cpu import tree_seconds
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services import LocalPostgres, running

DRAIN_SECONDS, LOAD_SECONDS, LOAD_LINGER_MS = 3, 120, 20


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


def records(topic: str, keys: int, numbers: range, appended: dict[int, int]) -> Iterator[Record]:
    """Yield records with these numbers. `appended` receives the append time of each in milliseconds."""

    def on_delivery(_: object, message: Message) -> None:
        appended[int(message.value() or b"")] = message.timestamp()[1]

    for number in numbers:
        yield topic, str(number), str(number % keys), number % keys % PARTITIONS, on_delivery


def results(servers: str, topic: str, keys: int, since: dict[tuple[str, int], int]) -> dict[int, int]:
    """Return the append time of each record's first result, by the number of the record."""
    consumer, found = consumer_from_start(servers, {topic: PARTITIONS}), dict[int, int]()
    consumer.assign([TopicPartition(name, partition, offset) for (name, partition), offset in since.items()])

    def is_read() -> bool:
        for message in filter(is_record, consumer.consume(10_000, 0.2)):
            number = (int(message.value() or b"0") - 1) * keys + int(message.key() or b"0")
            found.setdefault(number, message.timestamp()[1])
        return is_at_end(consumer)

    wait_until(is_read, LOAD_SECONDS, f"all results of {topic}")
    consumer.close()
    return found


def _case(place: Bench, server: LocalPostgres, options: Options, keys: int) -> dict[str, Any]:
    load = max(options.load, keys)
    numbers, appended = range(load, load + int(options.rate * options.duration)), dict[int, int]()
    topic, target = place.topics("counted", "counts")
    produce(place.servers, records(topic, keys, range(load), {}), LOAD_LINGER_MS)
    timed = enumerate(records(topic, keys, numbers, appended))
    consumer, latencies = state_table.start_counting(place.servers, topic, server.dsn, state_table.GUARDED, load)
    counts = place.records(topic).select(F.col("key").cast("string")).groupBy("key").count()
    rows = counts.select("key", F.col("count").cast("string").alias("value"))
    with psycopg.connect(server.dsn, autocommit=True) as table:
        table.execute(state_table.TABLES)
        with place.query(rows, target, {"realTime": f"{options.interval_seconds} seconds"}) as query:
            rates = [_rate(lambda: sum(written(place.servers, target).values()), load)]
            consumer.start()
            done = "select sum(next_offset) from counts_offsets"
            rates.append(_rate(lambda: int(state_table.single(table, done)), load))
            since, before = written(place.servers, target), _cpu_seconds(place.spark, server, consumer.pid or 0)
            due = when_due((at / options.rate, record) for at, record in timed)
            send_all(place.servers, due, query, drain_seconds=DRAIN_SECONDS)
            after = _cpu_seconds(place.spark, server, consumer.pid or 0)
        table_ms = latencies.recv()
        state = sum(f.stat().st_size for f in (place.folder / target / "state").rglob("*") if f.is_file())
        size = [state, int(state_table.single(table, "select pg_total_relation_size('counts')"))]
        wrong = abs(int(state_table.single(table, state_table.SUM)) - numbers.stop)
    found = results(place.servers, target, keys, since)
    spark_ms = [found[number] - appended[number] for number in numbers if number in found]
    missing = 2 * len(numbers) - len(spark_ms) - len(table_ms) + wrong
    ms_per_record = [round(1_000 * (end - begin) / len(numbers), 2) for begin, end in zip(before, after, strict=True)]
    measured = {"keys": keys, "spark_ms": spark_ms, "table_ms": table_ms, "missing": missing}
    return measured | {"rows_per_second": rates, "cpu_ms": ms_per_record, "bytes": size}


def _cpu_seconds(spark: SparkSession, server: LocalPostgres, consumer: int) -> list[float]:
    jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr] # noqa: SLF001
    return [tree_seconds(pid) for pid in (jvm, server.child.pid if server.child else 0, consumer)]


def _rate(done: Callable[[], int], total: int) -> int:
    """Wait until `total` records are counted, and return the records per second since the first."""
    wait_until(lambda: bool(done()), LOAD_SECONDS, "a first count")
    started, first = time.monotonic(), done()
    wait_until(lambda: done() >= total, LOAD_SECONDS, f"{total} counts")
    return round((total - first) / (time.monotonic() - started))


def measure(options: Options, console: Console) -> Outcome:
    """Print latency, CPU and size of both states. Missing records and wrong totals are problems."""
    with running(LocalPostgres()) as server, bench("state-stores", shuffle_partitions=PARTITIONS) as place:
        cases = [_case(place, server, options, keys) for keys in options.keys]
        [topic] = place.topics("killed")
        produce(place.servers, records(topic, 1_000, range(options.load), {}), LOAD_LINGER_MS)
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
            console.print(f"{case['keys']:,} keys, {name}: {latency_text(case[name])}")
            case[name] = [round(value, 1) for value in percentiles(case[name] or [0], (0.5, 0.99, 1))]
        console.print(case)
    console.print(f"counted twice after a kill: {extra}; {machine_text()}")
    others = {"rate": options.rate, "interval_seconds": options.interval_seconds, "load": options.load}
    expected = int(options.rate * options.duration) * len(cases)
    return outcome_of("state-stores", values, expected, problems, cases=cases, counted_twice=extra, **others)


BENCHMARK = Benchmark(
    "state-stores",
    __doc__,
    Options,
    measure,
    example="--keys 1000 --duration 30",
    presets={"quick": {"duration": 3, "keys": (1_000,), "load": 20_000, "interval_seconds": 5}},
)
