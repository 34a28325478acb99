"""
Compare every output of a run with the output of plain Python for the same input.

An engine may repeat outputs and may merge the outputs of one transaction, but it must not lose, invent or change any
output.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from benchmarks.harness.engine import Run
from benchmarks.harness.workloads import answer, count, is_rejected

TIMEOUT_SECONDS = 10.0
CONSUME_RECORDS = 10_000
MAX_EXAMPLES = 3


@dataclass
class Verification:
    """The number of all outputs and the number of wrong outputs."""

    outputs: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)
    """Descriptions of the first wrong outputs."""


def verify(run: Run) -> Verification:
    """Read the target and reject topics completely, and compare each output with the expected output."""
    verification = Verification()
    for message in _outputs(run):
        verification.outputs += 1
        try:
            output = _without_nulls(json.loads(message.value() or b"null"))
            expected = _expected(run, message.topic(), output)
        except (ValueError, TypeError, KeyError, AttributeError):
            output, expected = {}, None
        if expected is None or output != expected:
            verification.wrong += 1
            verification.examples.append(f"{message.topic()}: {message.value()!r}, expected {expected!r}")
    del verification.examples[MAX_EXAMPLES:]
    return verification


def _outputs(run: Run) -> Iterator[Message]:
    consumer = Consumer(
        {
            "bootstrap.servers": run.bootstrap_servers,
            "group.id": "verify",
            "enable.auto.commit": False,
            # A fetch from a partition without further records would delay the next partition by half a second.
            "fetch.wait.max.ms": 10,
        }
    )
    try:
        for topic in (run.target, run.rejected):
            for partition in range(run.partitions):
                start = TopicPartition(topic, partition, 0)
                end = consumer.get_watermark_offsets(start, timeout=TIMEOUT_SECONDS)[1]
                consumer.assign([start])
                read = 0
                while read < end:
                    messages = consumer.consume(min(CONSUME_RECORDS, end - read), timeout=TIMEOUT_SECONDS)
                    if not messages:
                        raise RuntimeError(
                            f"timed out after {TIMEOUT_SECONDS:g} s reading {topic!r}: {read} of {end} records "
                            f"arrived, so the outputs cannot be verified; check that the broker is running"
                        )
                    yield from messages
                    read += len(messages)
    finally:
        consumer.close()


def _expected(run: Run, topic: str | None, output: dict[str, Any]) -> dict[str, Any] | None:
    seq = _seq(output)
    if run.workload == "counts":
        return count(run.shape, seq) if topic == run.target else None
    expected_topic = run.rejected if is_rejected(run.workload, seq) else run.target
    return answer(run.workload, seq) if topic == expected_topic else None


def _seq(output: dict[str, Any]) -> int:
    return int(output["seq"] if "seq" in output else json.loads(output["raw"])["seq"])


def _without_nulls(output: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in output.items() if value is not None}
