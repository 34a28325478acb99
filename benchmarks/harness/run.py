"""
Run one case: create topics, start the engine, send traffic, and compare every output with the expected one.

Kafka append times are whole milliseconds, so only user latency can distinguish engines below 2 ms.
"""

import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from confluent_kafka import Message

from benchmarks.harness.engine import DEFAULT_SHAPE, Run, Start, fresh_run
from benchmarks.harness.java_programs import echo, read_times, sending
from benchmarks.harness.workloads import INVALID_EVERY, Shape, Workload, answer, count, is_rejected
from benchmarks.results.run_result import (
    MIN_BOUNDARIES,
    RecordTimes,
    RunResult,
    Traffic,
    boundaries,
    median_phases,
    pause_ms,
    problems,
)
from benchmarks.results.summary import BASELINE
from spark_rtm.kafka.consumer import consumer_from_start, is_at_end, is_record
from spark_rtm.measure import percentiles, percentiles_ms
from spark_rtm.measure.cpu import ResourceSamples, sampling
from spark_rtm.services import run_folder

TICK_SECONDS = 0.5
PARTITIONS = 2
TIMEOUT_SECONDS = 10.0
POLL_SECONDS = 0.1
CONSUME_RECORDS = 10_000
MAX_EXAMPLES = 3


@dataclass(frozen=True)
class Case:
    """One engine that runs one workload."""

    engine: str
    """Name of the engine as shown in tables."""
    workload: Workload
    start: Start
    intervals: Mapping[str, float] = field(default_factory=dict)
    """Trigger interval in seconds by query name; empty for an engine without batch boundaries."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the engine that the published results state."""
    partitions: int = PARTITIONS
    min_boundaries: int = MIN_BOUNDARIES
    """Minimum number of batch boundaries in a valid run, for an engine that has boundaries."""
    shape: Shape = DEFAULT_SHAPE


def baseline_case() -> Case:
    """Return the case with which all engines are compared. Its latency comes only from the broker and the machine."""
    return Case(BASELINE, "echo", echo)


def run_case(bootstrap_servers: str, case: Case, traffic: Traffic) -> RunResult:
    """Execute a run. Raise RuntimeError if the engine or the load generator fails."""
    pause = threading.Event()
    with (
        tempfile.TemporaryDirectory(prefix="bench-", dir=run_folder()) as folder,
        fresh_run(bootstrap_servers, case.workload, case.partitions, Path(folder), case.shape) as run,
    ):
        with case.start(run) as engine, sampling(engine.pids) as samples, sending(run, traffic) as generator:
            while generator.is_running():
                engine.raise_if_failed()
                pause.wait(TICK_SECONDS)
            times = read_times(run, generator)
            progress = engine.progress()
        outputs, wrong = verify(run)
        # Aggregations drop invalid records.
        is_invalid = np.arange(traffic.records) % INVALID_EVERY == INVALID_EVERY - 1
        needed = ~is_invalid if run.workload == "stateful" else np.full_like(is_invalid, fill_value=True)
    measured = times.measured(traffic)
    counted = measured & needed & (times.received_us > 0)
    due_us, latency_us = times.due_us[counted], (times.received_us - times.due_us)[counted]
    start, end = times.due_us[measured][[0, -1]] / 1e6
    found = boundaries(progress, case.intervals)
    inside = [boundary for boundary in found if start <= boundary.due_at and boundary.ended_at <= end]
    numbers = {
        "workload": case.workload,
        "engine": case.engine,
        "rate": traffic.rate,
        **latencies(times, counted),
        **load_generator(times, traffic),
        "missing": int((needed & (times.received_us == 0)).sum()),
        "wrong": len(wrong),
        "outputs_per_record": round(outputs / int(needed.sum()), 3),
        "boundaries": len(inside),
        "pauses_ms": [round(pause_ms(boundary, due_us, latency_us), 1) for boundary in inside],
        "phases_ms": median_phases(inside),
        **resources(samples, start, end, len(due_us)),
    }
    has_boundaries = bool(case.intervals)
    invalid = problems(numbers, wrong[:MAX_EXAMPLES], case.min_boundaries if has_boundaries else 0)
    return RunResult(numbers, invalid, latency_us, case.settings, has_boundaries, tuple(progress))


def latencies(times: RecordTimes, counted: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Return user latency (due time to receipt of the output) and engine latency (input append to output append)."""
    if not counted.any():
        return {"records": 0}
    engine_ms = (times.answer_appended_ms - times.appended_ms)[counted]
    engine_p50_ms, engine_p99_ms = percentiles(engine_ms, (0.5, 0.99))
    user_ms = percentiles_ms((times.received_us - times.due_us)[counted])
    return {
        "records": int(counted.sum()),
        **{f"{name}_ms": value for name, value in user_ms.items()},
        "engine_p50_ms": engine_p50_ms,
        "engine_p99_ms": engine_p99_ms,
    }


def resources(samples: ResourceSamples, start: float, end: float, records: int) -> dict[str, Any]:
    """Return the engine's CPU time and memory between two times, and the number of cores that other programs used."""
    cpu_seconds = samples.engine_seconds(start, end)
    return {
        "engine_cores": round(cpu_seconds / (end - start), 3),
        "cpu_seconds_per_million": round(1e6 * cpu_seconds / records, 1) if records else None,
        "engine_mb": round(max(samples.engine_bytes, default=0) / 2**20),
        "foreign_cores": round(samples.foreign_cores(start, end), 2),
        "load_average": round(os.getloadavg()[0], 1),
    }


def load_generator(times: RecordTimes, traffic: Traffic) -> dict[str, Any]:
    """Return the share of the requested rate that the load generator reached, and percentiles of its send delay."""
    measured = times.measured(traffic)
    sent_us, due_us = times.sent_us[measured], times.due_us[measured]
    # There are n - 1 gaps between n records.
    share = (due_us[-1] - due_us[0]) / max(1, sent_us[-1] - sent_us[0])
    lag_ms = percentiles_ms(sent_us - due_us)
    return {
        "achieved_share": round(float(share), 5),
        **{f"lag_{name}_ms": lag_ms[name] for name in ("p50", "p99", "max")},
    }


def verify(run: Run) -> tuple[int, list[str]]:
    """
    Compare every output of a run with the output of plain Python for the same input.

    Return the number of outputs, and a description of each incorrect output. An engine may repeat outputs and merge
    the outputs of one transaction, but must not lose, invent or change any output.
    """
    outputs, wrong = 0, list[str]()
    for message in _outputs(run):
        outputs += 1
        try:
            found = {name: value for name, value in json.loads(message.value() or b"").items() if value is not None}
            expected = _expected(run, message.topic(), found)
        except (ValueError, TypeError, KeyError, AttributeError):
            found, expected = {}, None
        if expected is None or found != expected:
            wrong.append(f"{message.topic()}: {message.value()!r}, expected {expected!r}")
    return outputs, wrong


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
    seq = int(output["seq"] if "seq" in output else json.loads(output["raw"])["seq"])
    if run.workload == "counts":
        return count(run.shape, seq) if topic == run.target else None
    expected_topic = run.rejected if is_rejected(run.workload, seq) else run.target
    return answer(run.workload, seq) if topic == expected_topic else None
