"""
Run the pipeline for hours at a steady rate, sample its resources, reconcile the results, and report growing resources.

The exit status is 1 if a result differs from the replay, or if a resource grows without a cause in `trends.EXPECTED`.
"""

import gc
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import psycopg
from confluent_kafka import KafkaException
from pyspark.sql import SparkSession

from benchmarks.soak.trends import growth, unexpected
from examples.attribution.audit.run_log import RunLog
from examples.attribution.demo.live_view import LiveView
from examples.attribution.demo.publish import command_of
from examples.attribution.demo.report import Report, plain_table, print_report, report_console
from examples.attribution.demo.run import Copies, run_all
from examples.attribution.settings import DemoSettings
from spark_rtm.command_line import arguments_of
from spark_rtm.measure import percentiles
from spark_rtm.measure.cpu import OtherPrograms, describe_machine, name_of, process_tree
from spark_rtm.services import new_folder
from spark_rtm.sinks.metrics import Metrics

PROGRAM = "python -m benchmarks.soak"
FOLDER, PUBLISHED = Path("build"), Path("references/measured")
MIB = 2**20
SAMPLE_SECONDS = 10
MIN_MINUTES = 90

Resource = tuple[str, str]
"""A key of `trends.TITLES`, and a part of the run, such as `Kafka` or the name of a query."""
Sample = tuple[float, float, dict[Resource, float]]
"""Seconds since the start, CPU seconds that other programs used since then, and the value of each resource."""


@dataclass(frozen=True)
class SoakOptions(DemoSettings):
    """The pipeline's settings and the options of the soak test."""

    duration: float = 7200
    """Seconds of traffic after the warm-up."""
    rate: float = 60
    """Records per second, summed over all source topics."""
    publish: bool = False
    """Write references/measured/soak.json, even if a resource grows, unless a result differs from the replay."""

    def __post_init__(self) -> None:
        """Raise ValueError if a setting is invalid or the run would be too short to judge growth."""
        super().__post_init__()
        if self.duration < (least := MIN_MINUTES * 60):
            raise ValueError(f"duration is {self.duration:g} s, but a run must last at least {least} s to show growth")


class SamplingView(LiveView):
    """The live view of a run. It also samples the resources of the run every ten seconds while queries run."""

    def __init__(self, checkpoints: Path) -> None:
        super().__init__()
        self.samples: list[Sample] = []
        self._checkpoints, self._others, self._started_at = checkpoints, OtherPrograms(), time.monotonic()

    def update(self, log: RunLog, sink: Metrics | None = None, *, is_draining: bool = False) -> None:
        """Refresh the view, and take a sample if the last one is at least `SAMPLE_SECONDS` old."""
        super().update(log, sink, is_draining=is_draining)
        seconds, spark = time.monotonic() - self._started_at, SparkSession.getActiveSession()
        if spark and (not self.samples or seconds >= self.samples[-1][0] + SAMPLE_SECONDS):
            self.samples.append((seconds, self._others.used(), used_resources(spark, self._checkpoints)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak test. Return 1 if a result differs from the replay or a resource grows unexpectedly, otherwise 0."""
    options = arguments_of(
        SoakOptions,
        arguments,
        program=PROGRAM,
        description=(__doc__ or "").strip(),
        example=f"{PROGRAM} --duration 7200 --rate 60",
        fixed={"master": "", "checkpoint_dir": ""},
    )
    try:
        view = SamplingView(checkpoints := new_folder("checkpoints"))
        [report] = run_all(replace(options, checkpoint_dir=str(checkpoints)), view, Copies())
        print_report(report)
        result = result_of(report, view.samples, command_of(options, "soak", PROGRAM, ("duration", "rate", "publish")))
    except (RuntimeError, ValueError, TimeoutError, KafkaException, psycopg.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    rows = [
        (row["title"], row["part"], f"{row['level']:,.0f}", f"{row['per_hour']:+,.1f}", row["trend"])
        for row in result["growth"]
    ]
    report_console().print(plain_table(("resource", "part", "level", "per hour", "trend"), rows))
    for problem in unexpected(result["growth"]):
        print(f"growth: {problem}", file=sys.stderr)
    print(f"result: {write(result, publish=options.publish)}")
    return exit_status(result)


def used_resources(spark: SparkSession, checkpoints: Path) -> dict[Resource, float]:
    """Return how much of each resource, such as memory, this process, its children and its queries use."""
    # Python's garbage collector would search all records of the audit again and again, which delays the traffic.
    gc.freeze()
    used = defaultdict[Resource, float](float)
    for process in process_tree([os.getpid()]):
        with suppress(psutil.Error), process.oneshot():
            part = "driver and audit" if process.pid == os.getpid() else name_of(process)
            used["memory_mib", part] += process.memory_info().rss / MIB
            used["handles", part] += process.num_fds()
    beans = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr] # noqa: SLF001 - PySpark has no public API for the JVM
    memory = beans.getMemoryMXBean()
    used["jvm_mib", "heap"] = memory.getHeapMemoryUsage().getUsed() / MIB
    used["jvm_mib", "non-heap"] = memory.getNonHeapMemoryUsage().getUsed() / MIB
    used["jvm_threads", "Spark"] = beans.getThreadMXBean().getThreadCount()
    used["jvm_classes", "Spark"] = beans.getClassLoadingMXBean().getLoadedClassCount()
    for query in spark.streams.active:
        for operator in query.lastProgress.stateOperators if query.lastProgress else ():
            used["state_rows", query.name] += operator.numRowsTotal
            used["state_mib", query.name] += operator.memoryUsedBytes / MIB
    for folder in checkpoints.iterdir():
        for parent, _, names in os.walk(folder):
            for name in names:
                with suppress(FileNotFoundError):  # Spark deletes old files at any time
                    used["checkpoint_mib", folder.name] += Path(parent, name).stat().st_size / MIB
                    used["checkpoint_files", folder.name] += 1
    return used


def result_of(report: Report, samples: Sequence[Sample], command: str) -> dict[str, Any]:
    """Return conditions, differences and growth. Raise ValueError below `MIN_MINUTES` minutes of samples."""
    minutes = [list(minute) for _, minute in groupby(samples, lambda sample: sample[0] // 60)]
    if len(minutes) < MIN_MINUTES:
        raise ValueError(
            f"the samples cover {len(minutes)} minutes, which is too short to detect growth; run for at least "
            f"{MIN_MINUTES} minutes"
        )
    settings, ends = report.settings, [minute[-1] for minute in minutes]
    found = [
        growth(*each, [median(used.get(each, 0) for _, _, used in minute) for minute in minutes])
        for each in sorted({each for _, _, used in samples for each in used})
    ]
    p50_ms, p99_ms = zip(*latency_by_minute(report.log, report.sent.measured_from_ms(settings)), strict=True)
    found += [growth("latency", "p50_ms", p50_ms), growth("latency", "p99_ms", p99_ms)]
    return {
        "conditions": {
            "command": command,
            **describe_machine(),
            "rate": settings.rate,
            "duration_seconds": round(report.sent.measured_seconds),
            "interval_seconds": settings.interval_seconds,
            "hot_campaign_share": settings.hot_campaign_share,
        },
        "records": report.sent.records,
        "differences": len(report.reconciliation.differences),
        # The number of cores that other programs used in each minute.
        "foreign_cores": [round((end[1] - start[1]) / (end[0] - start[0]), 2) for start, end in pairwise(ends)],
        # A program that ran only at the start, such as a compiler, has no level.
        "growth": [row for row in found if row["level"]],
    }


def latency_by_minute(log: RunLog, from_ms: float) -> list[list[float]]:
    """Return p50 and p99 (ms) from a source record's append to its first result's append, per minute of send time."""
    minutes = defaultdict[int, list[int]](list)
    for src, result_at in log.first_result_at.items():
        source = log.sources[src]
        if source.t0 >= from_ms:
            minutes[int((source.t0 - from_ms) // 60_000)].append(result_at - source.appended_at)
    return [percentiles(values, (0.5, 0.99)) for _, values in sorted(minutes.items())]


def exit_status(result: Mapping[str, Any]) -> int:
    """Return 1 if a result differs from the replay or a resource grows without a known cause, otherwise 0."""
    return int(bool(result["differences"] or any(unexpected(result["growth"]))))


def write(result: Mapping[str, Any], *, publish: bool) -> Path:
    """Write `soak.json`, and return its path. Differences prevent publication, but growth does not."""
    path = (PUBLISHED if publish and not result["differences"] else FOLDER) / "soak.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
