"""
Hold every output of a run against the replay of its input in plain Python.

A finished run arrives; what is wrong leaves.
An engine may repeat outputs, and may merge those of one transaction; it may not lose, invent or change one.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from examples.benchmarks.harness.engine import Run
from examples.benchmarks.harness.workloads import is_rejected, result

TIMEOUT_SECONDS = 10.0
BATCH = 10_000
SHOWN = 3


@dataclass
class Verdict:
    """What the outputs of a run are worth."""

    outputs: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)
    """The first few wrong outputs."""


def verify(run: Run) -> Verdict:
    """Read both output topics from the beginning to the end, and compare each output with the replay."""
    verdict = Verdict()
    for message in _outputs(run):
        verdict.outputs += 1
        try:
            found = _without_nulls(json.loads(message.value() or b"null"))
            expected = _expected(run, message.topic(), found)
        except (ValueError, TypeError, KeyError, AttributeError):
            found, expected = {}, None
        if expected is None or found != expected:
            verdict.wrong += 1
            verdict.examples.append(f"{message.topic()}: {message.value()!r}, but the replay says {expected!r}")
    del verdict.examples[SHOWN:]
    return verdict


def _outputs(run: Run) -> Iterator[Message]:
    consumer = Consumer(
        {
            "bootstrap.servers": run.bootstrap_servers,
            "group.id": "verify",
            "enable.auto.commit": False,
            # Else a fetch for the partition before, which has no more to give, holds up the next one for half a second.
            "fetch.wait.max.ms": 10,
        }
    )
    try:
        for topic in (run.target, run.rejected):
            for partition in range(run.partitions):
                place = TopicPartition(topic, partition, 0)
                end = consumer.get_watermark_offsets(place, timeout=TIMEOUT_SECONDS)[1]
                consumer.assign([place])
                read = 0
                while read < end:
                    messages = consumer.consume(min(BATCH, end - read), timeout=TIMEOUT_SECONDS)
                    if not messages:
                        raise RuntimeError(
                            f"{topic!r} has {end} records, but gives none after {read}; is the broker up?"
                        )
                    yield from messages
                    read += len(messages)
    finally:
        consumer.close()


def _expected(run: Run, topic: str | None, found: dict[str, Any]) -> dict[str, Any] | None:
    number = _number(found)
    belongs = run.rejected if is_rejected(run.work, number) else run.target
    return result(run.work, number) if topic == belongs else None


def _number(found: dict[str, Any]) -> int:
    return int(found["seq"] if "seq" in found else json.loads(found["raw"])["seq"])


def _without_nulls(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not None}
