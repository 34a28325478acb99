"""
Compare RocksDB state and a PostgreSQL table as the state of one count per key.

Run the benchmark with `make bench-state-stores`. A real-time query and a consumer without Spark count the same topic at
the same time. Latency ends with the append of a result, or with the commit of the table.
"""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import Message, Producer, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import BenchmarkOptions
from benchmarks.probes import state_table
from benchmarks.probes.probe import ends, latency_text, machine_text, outcome_of, send_all, when_due
from spark_rtm.kafka.consumer import consumer_from_start, is_at_end, is_record
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.measure.cpu import tree_seconds
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.realtime.queries import KAFKA_SINK, wait_until
from spark_rtm.services import LocalPostgres, kafka_broker, run_folder, running
from spark_rtm.services.spark import build_session

PARTITIONS, DRAIN_SECONDS, LOAD_SECONDS = 2, 3, 120
MAX_QUEUED = 50_000


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


def start(spark: SparkSession, servers: str, topic: str, checkpoint: str, seconds: int) -> StreamingQuery:
    """Start a query that writes the count of a record's key for each record."""
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    records = source.option("subscribe", topic).option("startingOffsets", "earliest").load()
    counts = records.select(F.col("key").cast("string")).groupBy("key").count()
    rows = counts.select("key", F.col("count").cast("string").alias("value"))
    writer = rows.writeStream.format("kafka").options(**KAFKA_SINK, topic=f"{topic}-counts").outputMode("update")
    # rtm: ignore[checkpoint-path] a benchmark needs no state after its end
    writer = writer.option("kafka.bootstrap.servers", servers).option("checkpointLocation", checkpoint)
    return writer.queryName(topic).trigger(realTime=f"{seconds} seconds").start()  # type: ignore[call-overload,no-any-return]


def send(servers: str, topic: str, keys: int, numbers: range, rate: float = 0) -> dict[int, int]:
    """Send records, at `rate` per second if given, and return the append time of each in milliseconds."""
    appended: dict[int, int] = {}
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0 if rate else 20})

    def on_delivery(_: object, message: Message) -> None:
        appended[int(message.value() or b"")] = message.timestamp()[1]

    due = ((place / rate, number) for place, number in enumerate(numbers)) if rate else ()
    for number in when_due(due) if rate else numbers:
        while len(producer) > MAX_QUEUED:
            producer.poll(0.1)
        producer.produce(topic, str(number), str(number % keys), on_delivery=on_delivery)
        producer.poll(0)
    producer.flush(30)
    return appended


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


def _case(spark: SparkSession, servers: str, server: LocalPostgres, options: Options, keys: int) -> dict[str, Any]:
    topic, load = f"counted-{keys}", max(options.load, keys)
    numbers = range(load, load + int(options.rate * options.duration))
    ensure_topics(servers, [topic, f"{topic}-counts"], PARTITIONS)
    send(servers, topic, keys, range(load))
    consumer, latencies = state_table.start_counting(servers, topic, server.dsn, state_table.GUARDED, load)
    with tempfile.TemporaryDirectory(dir=run_folder()) as folder, psycopg.connect(server.dsn, autocommit=True) as table:
        table.execute(state_table.TABLES)
        query = start(spark, servers, topic, folder, options.interval_seconds)
        try:
            rates = [_rate(lambda: sum(ends(servers, f"{topic}-counts", PARTITIONS).values()), load)]
            consumer.start()
            done = "select sum(next_offset) from counts_offsets"
            rates.append(_rate(lambda: int(state_table.single(table, done)), load))
            since, appended = ends(servers, f"{topic}-counts", PARTITIONS), dict[int, int]()
            cpu = _cpu_seconds(spark, server, consumer.pid or 0)
            send_all(lambda: appended.update(send(servers, topic, keys, numbers, options.rate)), query, DRAIN_SECONDS)
            cpu = [end - begin for begin, end in zip(cpu, _cpu_seconds(spark, server, consumer.pid or 0), strict=True)]
            read = _read(spark, table, folder, numbers.stop)
        finally:
            query.stop()
        table_ms = latencies.recv()
        state = sum(f.stat().st_size for f in Path(folder, "state").rglob("*") if f.is_file())
        size = [state, int(state_table.single(table, "select pg_total_relation_size('counts')"))]
        wrong = abs(int(state_table.single(table, state_table.SUM)) - numbers.stop)
    found = results(servers, f"{topic}-counts", keys, since)
    spark_ms = [found[number] - appended[number] for number in numbers if number in found]
    missing = 2 * len(numbers) - len(spark_ms) - len(table_ms) + wrong
    ms_per_record = [round(1_000 * one / len(numbers), 2) for one in cpu]
    measured = {"keys": keys, "spark_ms": spark_ms, "table_ms": table_ms, "missing": missing}
    return measured | {"rows_per_second": rates, "cpu_ms": ms_per_record, "bytes": size, **read}


def _cpu_seconds(spark: SparkSession, server: LocalPostgres, consumer: int) -> list[float]:
    jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr] # noqa: SLF001
    return [tree_seconds(pid) for pid in (jvm, server.child.pid if server.child else 0, consumer)]


def _read(spark: SparkSession, table: psycopg.Connection[Any], folder: str, total: int) -> dict[str, Any]:
    started = time.monotonic()
    state_table.single(table, "select n from counts where key = %s", "7")
    middle = time.monotonic()
    state = spark.read.format("statestore").load(folder)
    key, value = (f"{name}.{state.select(f'{name}.*').columns[0]}" for name in ("key", "value"))
    state.where(F.col(key) == "7").collect()
    read_ms = [round(1000 * (time.monotonic() - middle)), round(1000 * (middle - started), 1)]
    committed = state.agg(F.sum(value)).first()
    return {"read_ms": read_ms, "rows_behind": total - int(committed[0] if committed else 0)}


def _rate(done: Callable[[], int], total: int) -> int:
    """Wait until `total` records are counted, and return the records per second since the first."""
    wait_until(lambda: bool(done()), LOAD_SECONDS, "a first count")
    started, first = time.monotonic(), done()
    wait_until(lambda: done() >= total, LOAD_SECONDS, f"{total} counts")
    return round((total - first) / (time.monotonic() - started))


def measure(options: Options, console: Console) -> Outcome:
    """Print latency, CPU and size of both states. Missing records and wrong totals are problems."""
    with ExitStack() as stack:
        servers, server = stack.enter_context(kafka_broker()), stack.enter_context(running(LocalPostgres()))
        spark = build_session("state-stores", shuffle_partitions=PARTITIONS)
        stack.callback(spark.stop)
        cases = [_case(spark, servers, server, options, keys) for keys in options.keys]
        ensure_topics(servers, ["killed"], PARTITIONS)
        send(servers, "killed", 1_000, range(options.load))
        arms = {"bare": state_table.INCREMENT, "guarded": state_table.GUARDED}
        extra = {arm: state_table.counted_twice(servers, "killed", server.dsn, arms[arm], options.load) for arm in arms}
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
