"""Convert the samples and the report of a soak into the content of `soak.json` and a console table."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from examples.attribution.audit.run_log import RunLog
from examples.attribution.demo.report import Report
from examples.attribution.soak.chart import draw
from examples.attribution.soak.growth import EXPECTED, UNITS, growths, latency_growth, minutes_of
from examples.attribution.soak.samples import Sample
from spark_rtm.measure.machine import describe_machine
from spark_rtm.measure.percentiles import percentiles

MINUTE_MS = 60_000
LATENCIES = ("p50_ms", "p99_ms")
FOLDER, PUBLISHED = Path("build/soak"), Path("references/measured")
TITLES = {**UNITS, "latency": "latency, ms"}


def result_of(report: Report, samples: Sequence[Sample], command: str) -> dict[str, Any]:
    """
    Return the conditions, the number of differences, and the growth of each resource and of latency.

    Samples before the first batch and after the last query do not count.
    """
    settings = report.settings
    latency = latency_by_minute(report.log, report.sent.measured_from_ms(settings))
    running = [sample for sample in samples if sample["batches"]]
    found = [*growths(running), *(latency_growth(latency, name) for name in LATENCIES)]
    return {
        "conditions": {
            "command": command,
            **describe_machine(),
            "rate": settings.rate,
            "achieved_rate": round(report.sent.rate, 1),
            "duration_seconds": round(report.sent.measured_seconds),
            "interval_seconds": settings.interval_seconds,
            "hot_campaign_share": settings.hot_campaign_share,
        },
        "records": report.sent.records,
        "differences": len(report.reconciliation.differences),
        "foreign_cores": foreign_cores(running),
        "growth": [
            {
                "title": TITLES[each.group],
                **asdict(each),
                "minutes": [round(value, 2) for value in each.minutes],
                "per_hour": round(each.per_hour, 2),
                "cause": EXPECTED.get((each.group, each.part), ""),
            }
            for each in found
        ],
    }


def foreign_cores(samples: Sequence[Sample]) -> list[float]:
    """Return the number of cores that other programs used in each minute."""
    totals = [
        (
            minute[-1]["seconds"],
            minute[-1]["machine_cpu_seconds"]["all programs"],
            sum(minute[-1]["cpu_seconds"].values()),
        )
        for minute in minutes_of(samples)
    ]
    return [
        # The time of a program that has ended is missing in the second sum, so the difference can be below zero.
        round(max(0.0, (machine - before[1] - max(0.0, own - before[2])) / (seconds - before[0])), 2)
        for before, (seconds, machine, own) in pairwise(totals)
    ]


def exit_status(result: Mapping[str, Any]) -> int:
    """Return 1 if a result differs from the replay or a resource grows without a known cause, otherwise 0."""
    return 1 if result["differences"] or any(unexpected(result["growth"])) else 0


def folder_of(result: Mapping[str, Any], *, publish: bool) -> Path:
    """Return the folder for the result. Differences prevent publication, but growth does not."""
    return PUBLISHED if publish and not result["differences"] else FOLDER


GROWTH_COLUMNS = ("resource", "part", "level", "per hour", "trend")


def growth_rows(found: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return level, growth and trend of each resource as text."""
    return [
        (row["title"], row["part"], f"{row['level']:,.0f}", f"{row['per_hour']:+,.1f}", row["trend"]) for row in found
    ]


def print_growth(found: Sequence[dict[str, Any]], console: Console | None = None) -> None:
    """Print a table with level, growth and trend of each resource."""
    table = Table(*GROWTH_COLUMNS, box=None)
    for row in growth_rows(found):
        table.add_row(*row)
    (console or Console()).print(table)


def unexpected(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a message for each resource that grows without a known cause."""
    for row in found:
        if row["trend"] == "grows":
            yield (
                f"{row['title']} of {row['part']} grows by {row['per_hour']:,.1f} per hour from a level of "
                f"{row['level']:,.0f}; find the cause before you run this for weeks"
            )


def write(result: Mapping[str, Any], folder: Path) -> None:
    """Write `soak.json` and its charts `soak_*.svg`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "soak.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    draw(result, folder)


def latency_by_minute(log: RunLog, from_ms: float) -> list[dict[str, Any]]:
    """
    Return the number of records and the latency percentiles (ms) of each minute after `from_ms` (UTC).

    A record belongs to the minute of its intended send time. Its latency runs from the append of the source record to
    the append of its first result.
    """
    minutes = defaultdict[int, list[int]](list)
    for src, result_at in log.first_result_at.items():
        source = log.sources[src]
        if source.t0 >= from_ms:
            minutes[int((source.t0 - from_ms) // MINUTE_MS)].append(result_at - source.appended_at)
    names, shares = ("p50_ms", "p99_ms", "max_ms"), (0.5, 0.99, 1.0)
    return [
        {"minute": minute, "records": len(values), **dict(zip(names, percentiles(values, shares), strict=True))}
        for minute, values in sorted(minutes.items())
    ]
