"""
Measure the heap, the memory outside the heap, and the full collections of a query whose state grows.

`BENCH="--bounded-mb 10"` bounds RocksDB's memory. The JVM touches its whole heap at the start, so all resident
memory beyond the heap size is outside the heap.
"""

import threading
import time
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import Any

import psutil
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from benchmarks.harness.benchmark import BenchmarkOptions, Outcome
from benchmarks.probes.probe import latencies, outcome_of, probe_run, produce, when_due
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services.spark import CONFS, JAVA_OPTIONS

HEAP_MB, STATE_PARTITIONS, RATE, UPDATES = 1024, 4, 200, 3
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
PRESETS = {"quick": {"duration": 3, "keys": 5_000}}


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    duration: float = 15
    """Seconds of measured records without forced full collections, and again with them."""
    keys: int = 250_000
    """Number of keys in the state. A fifth is measured first, and all keys are updated twice afterwards."""
    bounded_mb: int = 0
    """Limit of RocksDB's memory in MB; 0 is the default without a limit."""


@dataclass
class Probe:
    """A query that counts records by key, and writes the append time of records whose key begins with `p`."""

    servers: str
    source: str
    target: str
    java: Any
    """The package `java.lang` of the query's JVM."""
    query: StreamingQuery

    def send(self, keys: Iterable[str]) -> None:
        """Send a record for each key and then 20 more records, and wait until the query has answered these 20."""
        last = [f"px{uuid.uuid4().hex}" for _ in range(20)]
        produce(self.servers, ((self.source, b"", key) for key in chain(keys, last)))
        wait_until(lambda: {*last} <= {*self._late_ms()}, 120, "the counts of the last keys", [self.query])

    def row(self) -> dict[str, Any]:
        """Wait for two batch boundaries, force a full collection, and return the memory use by part (MB)."""
        before = len(self.query.recentProgress)
        wait_until(lambda: len(self.query.recentProgress) > before + 1, 90, "two batches", [self.query])
        took_ms = self.collect()
        heap = self.java.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
        resident = psutil.Process(self.java.ProcessHandle.current().pid()).memory_info().rss
        state = self.query.recentProgress[-1].stateOperators[0]
        metrics = state.customMetrics
        sizes = {"heap": heap, "outside": resident - HEAP_MB * 2**20, "rocksdb": state.memoryUsedBytes}
        sizes |= {"pinned": metrics["rocksdbPinnedBlocksMemoryUsage"], "disk": metrics["rocksdbSstFileSize"]}
        found = {f"{name}_mb": round(size / 2**20, 1) for name, size in sizes.items()}
        return {"state_rows": state.numRowsTotal, **found, "collection_ms": took_ms}

    def collect(self) -> int:
        """Force a full collection, and return its duration (ms) according to the old generation's MXBean."""
        beans = self.java.management.ManagementFactory.getGarbageCollectorMXBeans()
        (old,) = (bean for bean in beans if "Old" in bean.getName() or "MarkSweep" in bean.getName())
        before = old.getCollectionTime()
        self.java.System.gc()
        return int(old.getCollectionTime() - before)

    def latencies_ms(self, prefix: str, seconds: float) -> list[int]:
        """Send records at a constant rate, and return their latencies."""
        self.send(f"{prefix}{n}" for n in when_due((n / RATE, n) for n in range(int(RATE * seconds))))
        return [late_ms for key, late_ms in self._late_ms().items() if key.startswith(prefix)]

    def _late_ms(self) -> dict[str, int]:
        messages = read_topic(self.servers, self.target)
        return {(m.key() or b"").decode(): m.timestamp()[1] - int(m.value() or b"0") for m in messages}


def _counts(records: DataFrame) -> DataFrame:
    # The optimizer would move a condition on the key alone below the aggregation, and the state would stay empty.
    shown = F.max(F.col("key").cast("string").startswith("p")).alias("shown")
    newest = records.groupBy("key").agg(F.max("timestamp").alias("at"), shown).where("shown")
    return newest.select("key", F.unix_millis("at").cast("string").alias("value"))


def measure(options: Options, console: Console) -> Outcome:
    """Return the memory by phase, and the latency with and without full collections."""
    confs = {"spark.driver.memory": f"{HEAP_MB}m"}
    confs[JAVA_OPTIONS] = f"{CONFS[JAVA_OPTIONS]} -Xms{HEAP_MB}m -XX:+AlwaysPreTouch"
    if options.bounded_mb:
        limits = {"boundedMemoryUsage": "true", "maxMemoryUsageMB": str(options.bounded_mb)}
        confs |= {f"spark.sql.streaming.stateStore.rocksdb.{name}": value for name, value in limits.items()}
    rows, started = list[dict[str, Any]](), time.monotonic()
    with probe_run("memory", shuffle_partitions=STATE_PARTITIONS, confs=confs) as place:
        source, target = place.topics("keys", "counts")
        java = place.spark._jvm.java.lang  # type: ignore[union-attr] # noqa: SLF001
        with place.query(_counts(place.records(source)), target, {"realTime": "10 seconds"}) as query:
            probe = Probe(place.servers, source, target, java, query)
            for keys in (0, options.keys // 5, *[options.keys] * UPDATES):
                probe.send(f"k{n}" for n in range(keys))
                rows.append({"at_seconds": round(time.monotonic() - started), **probe.row()})
                console.print(rows[-1], soft_wrap=True)
            calm, stop = probe.latencies_ms("pc", options.duration), threading.Event()
            with ThreadPoolExecutor(1) as pool, ExitStack() as stack:
                stack.callback(stop.set)
                pool.submit(lambda: [probe.collect() for _ in iter(lambda: stop.wait(1), True)])
                stopped = probe.latencies_ms("pf", options.duration)
    calm_ms = {f"calm_{name}_ms": value for name, value in latencies(calm, SHARES).items()}
    others = {"bounded_mb": options.bounded_mb, **calm_ms, "p95_ms": latencies(stopped, SHARES)["p95"]}
    name = "memory-bounded" if options.bounded_mb else "memory"
    name += f"-{options.keys}" if options.keys != Options.keys else ""
    return outcome_of(console, name, stopped, int(RATE * options.duration), [], **others, phases=rows)
