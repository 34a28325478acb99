"""
Compare every output of a run with the output of plain Python for the same input.

An engine may repeat outputs and merge those of one transaction, but must not lose, invent or change any output.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Message

from benchmarks.harness.engine import Run
from benchmarks.harness.workloads import answer, count, is_rejected
from spark_rtm.kafka.consumer import consumer_from_start, is_at_end, is_record

TIMEOUT_SECONDS = 10.0
POLL_SECONDS = 0.1
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
    # A fetch from a partition without further records would delay the next partition by half a second.
    topics, confs = dict.fromkeys((run.target, run.rejected), run.partitions), {"fetch.wait.max.ms": 10}
    consumer, seen_at = consumer_from_start(run.bootstrap_servers, topics, confs), time.monotonic()
    try:
        while not is_at_end(consumer):
            messages = [message for message in consumer.consume(CONSUME_RECORDS, POLL_SECONDS) if is_record(message)]
            yield from messages
            if messages:
                seen_at = time.monotonic()
            elif time.monotonic() - seen_at > TIMEOUT_SECONDS:
                raise RuntimeError(
                    f"timed out after {TIMEOUT_SECONDS:g} s reading {run.target!r}, so the outputs cannot be verified; "
                    "check that the broker is running"
                )
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
