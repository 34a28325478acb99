"""Run Kafka Streams. By default, it buffers outputs for 100 ms and merges updates in a cache. Both are turned off."""

from contextlib import AbstractContextManager

from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.java_programs import java_command
from benchmarks.other_engines.engine import OtherEngine, Settings, jars, pinned, running_engine

NAME, PROGRAM, JARS = "Kafka Streams", "KafkaStreamsJob", "kafka_streams"
HEAP_OPTIONS = ("-Xmx512m",)
SETTINGS = {
    "num.stream.threads": 2,
    "producer.linger.ms": 0,
    "statestore.cache.max.bytes": 0,
    "auto.offset.reset": "earliest",
}
JAVA_OPTIONS = "java options"


def settings(interval_seconds: float) -> Settings:
    """Return the settings for one commit per interval."""
    return SETTINGS | {"commit.interval.ms": round(interval_seconds * 1000), JAVA_OPTIONS: " ".join(HEAP_OPTIONS)}


def kafka_streams(settings: Settings, run: Run) -> AbstractContextManager[Engine]:
    """Start Kafka Streams with its state in RocksDB and a changelog topic."""
    run_settings = {
        "bootstrap.servers": run.bootstrap_servers,
        "application.id": run.source,
        "state.dir": run.folder / "state",
    }
    properties, ready = run.folder / "streams.properties", run.folder / "ready"
    own = {name: value for name, value in settings.items() if name != JAVA_OPTIONS}
    properties.write_text("".join(f"{name}={value}\n" for name, value in (own | run_settings).items()))
    arguments = (str(properties), run.workload, run.source, run.target, run.rejected, str(ready))
    return running_engine(NAME, java_command(PROGRAM, jars(JARS), HEAP_OPTIONS, arguments), run, ready.exists)


KAFKA_STREAMS = OtherEngine(
    NAME, tuple(pinned(JARS)), settings, lambda: java_command(PROGRAM, jars(JARS), (), ()), kafka_streams
)
