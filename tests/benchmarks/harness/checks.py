import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.harness.engine import Engine, Run
from benchmarks.results.run_result import RunResult, Traffic

SHORT = Traffic(rate=2000, warm_up_seconds=0.5, duration_seconds=1, drain_seconds=60)
MEASURED_RECORDS = 2000
VALID = [seq for seq in range(3000) if seq % 101 != 100]


@contextmanager
def copying(run: Run) -> Iterator[Engine]:
    """Copy the records in this process, which starts faster than the baseline's JVM."""
    source = Consumer({"bootstrap.servers": run.bootstrap_servers, "group.id": run.source})
    source.assign([TopicPartition(run.source, number, 0) for number in range(run.partitions)])
    target, ended = Producer({"bootstrap.servers": run.bootstrap_servers, "linger.ms": 0}), threading.Event()

    def copy() -> None:
        while not ended.is_set():
            for record in source.consume(1000, 0.1):
                target.produce(run.target, record.value(), record.key())
            target.poll(0)

    thread = threading.Thread(target=copy)
    thread.start()
    try:
        yield Engine(())
    finally:
        ended.set()
        thread.join()
        source.close()
        assert 0 == target.flush(30)


def half_echo(run: Run) -> AbstractContextManager[Engine]:
    """Copy only the first partition."""
    return copying(replace(run, partitions=1))


def assert_all_answered(result: RunResult) -> None:
    assert (0, 0) == (result.numbers["missing"], result.numbers["wrong"])
    assert all(result.latency_us > 0)
