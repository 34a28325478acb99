"""
Measure how late alarms for silent devices are raised: the alarm's append time minus the device's deadline.

In OSS 4.3.0 real-time mode, a due timer fires when the next row of its state partition arrives. Ticks are such rows.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rich.console import Console

from benchmarks.harness.benchmark import BenchmarkOptions, Outcome
from benchmarks.probes.probe import Record, outcome_of, probe_run, send_all, when_due
from examples.alerts.heartbeats_to_offline import JOB, SILENCE_MS, ticks_for
from examples.alerts.job import Options as JobOptions
from examples.alerts.job import start
from spark_rtm.kafka.consumer import read_topic

WARM_UP_SECONDS = 40
BEAT_SECONDS = 0.25
CYCLE_SECONDS = 4.0
"""Length of a device's cycle: heartbeats in the first half, silence in the second."""
PRESETS = {"quick": {"duration": 9}}


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    duration: float = 60
    """Seconds of measured heartbeats after the warm-up."""
    devices: int = 50
    """Number of devices. Each device is silent for two of every four seconds."""
    interval_seconds: int = 300
    """Trigger interval of real-time mode in seconds, at least 5."""


def measure(options: Options, console: Console) -> Outcome:
    """Return the lateness of the alarms. Silences without an alarm and false alarms are problems."""
    with probe_run("offline-lateness") as place:
        job = JobOptions(place.servers, checkpoint_dir=str(place.folder), interval_seconds=options.interval_seconds)
        with ticks_for(job):
            query = start(JOB, place.spark, job)
            counted_from_ms = int((time.time() + WARM_UP_SECONDS) * 1000)
            send_all(place.servers, _records(job, options.devices, WARM_UP_SECONDS + options.duration), query)
        silences, late_ms = _silences(job, counted_from_ms), _alarms(job, counted_from_ms)
    found, false = [late for alarm, late in late_ms.items() if alarm in silences], len(late_ms.keys() - silences)
    problems = [f"{false} false alarms were raised"] if false else []
    load = {"devices": options.devices, "interval_seconds": options.interval_seconds}
    return outcome_of(console, "offline-lateness", found, len(silences), problems, **load)


def _records(options: JobOptions, devices: int, seconds: float) -> Iterator[Record]:
    for device in when_due(sorted(_beats(devices, seconds))):
        value = json.dumps({"device_id": device, "beat_ts": int(time.time() * 1000)})
        yield f"{options.topic_prefix}heartbeats", value, device


def _beats(devices: int, seconds: float) -> Iterator[tuple[float, str]]:
    for number in range(devices):
        for cycle in range(int(seconds / CYCLE_SECONDS)):
            since = (cycle + number / devices) * CYCLE_SECONDS
            for beat in range(int(CYCLE_SECONDS / 2 / BEAT_SECONDS)):
                yield since + beat * BEAT_SECONDS, f"d{number}"


def _silences(options: JobOptions, counted_from_ms: int) -> set[str]:
    """Return the expected alarm ids for silences that began at `counted_from_ms` or later."""
    beats_ms: dict[str, list[int]] = {}
    for message in read_topic(options.bootstrap_servers, f"{options.topic_prefix}heartbeats"):
        beats_ms.setdefault((message.key() or b"").decode(), []).append(message.timestamp()[1])
    return {
        f"{device}/{last_ms}"
        for device, times_ms in beats_ms.items()
        for last_ms, next_ms in pairwise([*times_ms, sys.maxsize])
        if next_ms - last_ms > SILENCE_MS and last_ms >= counted_from_ms
    }


def _alarms(options: JobOptions, counted_from_ms: int) -> dict[str, int]:
    """Return the lateness of each alarm in milliseconds, by id."""
    late_ms: dict[str, int] = {}
    for message in read_topic(options.bootstrap_servers, f"{options.topic_prefix}heartbeats-offline"):
        change: dict[str, Any] = json.loads(message.value() or b"")
        if change["status"] == "offline" and change["last_seen_ts"] >= counted_from_ms:
            late_ms[change["alarm_id"]] = message.timestamp()[1] - change["deadline_ts"]
    return late_ms
