"""
Kafka Streams as an engine of the benchmarks: a Java program, compiled on the spot.

A run arrives; a process that has restored and assigned all partitions leaves.
Its own defaults gather outputs for 100 ms and merge updates in a cache, which real-time mode does not do.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from examples.benchmarks.harness.engine import Engine, Run
from examples.benchmarks.harness.java_program import java_command
from examples.benchmarks.other_engines.engine import Peer, supervised
from examples.benchmarks.other_engines.maven import is_fetched, jars, pinned
from examples.benchmarks.other_engines.venv import Tell

NAME, PROGRAM, JARS = "Kafka Streams", "StreamsPeer", "kafka_streams"
HEAP = ("-Xmx512m",)
SETTINGS = {
    "num.stream.threads": 2,
    "producer.linger.ms": 0,
    "statestore.cache.max.bytes": 0,
    "commit.interval.ms": 30_000,
    "auto.offset.reset": "earliest",
}


def fetch(tell: Tell) -> None:
    """Fetch the jars and compile the program."""
    if not is_fetched(JARS):
        tell(f"{NAME}: fetching {', '.join(pinned(JARS))}, about 100 MB, once")
    java_command(PROGRAM, jars(JARS), (), ())


@contextmanager
def kafka_streams(run: Run) -> Iterator[Engine]:
    """Yield Kafka Streams at work; state is in RocksDB with a changelog topic."""
    own = {"bootstrap.servers": run.bootstrap_servers, "application.id": run.source, "state.dir": run.folder / "state"}
    properties, ready = run.folder / "streams.properties", run.folder / "ready"
    properties.write_text("".join(f"{name}={value}\n" for name, value in (SETTINGS | own).items()))
    arguments = (str(properties), run.work, run.source, run.target, run.rejected, str(ready))
    with supervised(NAME, java_command(PROGRAM, jars(JARS), HEAP, arguments), run, ready.exists) as engine:
        yield engine


KAFKA_STREAMS = Peer(NAME, tuple(pinned(JARS)), SETTINGS | {"java options": " ".join(HEAP)}, fetch, kafka_streams)
