"""Write the latencies of two runs, one per execution mode, to a JSON file from which pages are generated."""

import json
from collections.abc import Collection, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from examples.attribution.demo.report import Report
from examples.attribution.settings import Settings
from spark_rtm.measure.cpu import describe_machine

PROGRAM = "python -m examples.attribution.demo"
PUBLISHED_FILE = Path("references/measured/demo.json")
MIN_MEASURED_SHARE = 0.95
"""Minimum share of the requested duration that must be measured. A smaller share means that the run was interrupted."""
MAKE_VARIABLES = ("duration", "rate", "trigger", "python_trigger", "compare", "publish", "master", "cluster")
"""Options that `make demo` accepts as Make variables."""


def publish(options: Settings, real_time: Report, micro_batch: Report, path: Path = PUBLISHED_FILE) -> None:
    """Write the conditions and results of both runs to `path`. Raise ValueError if a run is invalid."""
    for report in (real_time, micro_batch):
        differences, measured_seconds = len(report.reconciliation.differences), report.sent.measured_seconds
        if differences or measured_seconds < MIN_MEASURED_SHARE * options.duration:
            raise ValueError(
                f"the {report.settings.trigger} run is invalid (it has {differences} differences and was measured for "
                f"{measured_seconds:.0f} of {options.duration:g} s), so {path} was not written; repeat both runs"
            )
    reports = {"real_time": real_time, "micro_batch": micro_batch}
    campaigns = real_time.reconciliation.campaigns
    content = {
        "conditions": {
            "command": command_of(options),
            **describe_machine(),
            "rate": options.rate,
            "duration_seconds": options.duration,
            "warm_up_seconds": options.warm_up_seconds,
            "interval_seconds": options.interval_seconds,
        },
        "rows": [row for report in reports.values() for row in _rows(report)],
        "over_delivered": {
            "goal": sum(campaign.goal.impressions for campaign in campaigns),
            **{mode: report.reconciliation.over_delivered for mode, report in reports.items()},
        },
        "boundaries_ms": real_time.pauses_ms,
        "cpu": {mode: round(report.cpu.run, 2) if report.cpu else None for mode, report in reports.items()},
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def command_of(
    options: Settings, target: str = "demo", program: str = PROGRAM, variables: Collection[str] = MAKE_VARIABLES
) -> str:
    """Return the shortest command that runs a program with `options`. The make target accepts `variables`."""
    changed = {
        field.name: getattr(options, field.name)
        for field in fields(options)
        if getattr(options, field.name) != field.default
    }
    if changed.keys() <= set(variables):
        return " ".join([f"make {target}", *(f"{name.upper()}={_text(value)}" for name, value in changed.items())])
    flags = {name: f"--{name.replace('_', '-')}" for name in changed}
    return " ".join([program, *(flags[k] if v is True else f"{flags[k]} {_text(v)}" for k, v in changed.items())])


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _rows(report: Report) -> Iterator[dict[str, Any]]:
    for row in report.latencies:
        latencies_ms = {"p50_ms": row.p50, "p90_ms": row.p90, "p99_ms": row.p99, "max_ms": row.max}
        yield {"mode": report.settings.trigger, "hop": row.hop, "records": row.records, **latencies_ms}
