"""Add a run to the JSON file behind the table of faults."""

import json
import os
from pathlib import Path
from typing import Any

from examples.attribution.chaos.cli import PROGRAM, ChaosOptions
from examples.attribution.chaos.faults import KINDS
from examples.attribution.chaos.outcome import Outcome
from examples.attribution.demo.publish import command_of
from spark_rtm.measure.machine import describe_machine

PUBLISHED_FILE = Path("references/measured/chaos.json")
MAKE_VARIABLES = ("duration", "rate", "seed", "faults", "python_trigger", "cluster", "standby", "publish")
"""Options that `make chaos` accepts as variables."""


def publish(options: ChaosOptions, outcome: Outcome, path: Path = PUBLISHED_FILE) -> None:
    """Add the run to `path` and replace a run with the same command; raise ValueError for an interrupted run."""
    if outcome.is_interrupted:
        raise ValueError(f"Ctrl-C has ended the run, so {path} was not changed; repeat the run")
    earlier = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    new = _run(options, outcome)
    content = {
        "kinds": {name: kind.what for name, kind in KINDS.items()},
        "runs": [*(run for run in earlier if run["command"] != new["command"]), new],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _run(options: ChaosOptions, outcome: Outcome) -> dict[str, Any]:
    machine = describe_machine()
    return {
        "command": command_of(options, "chaos", PROGRAM, MAKE_VARIABLES),
        "date": machine["date"],
        "cores": machine["cores"],
        "load_average": round(os.getloadavg()[-1], 1),
        "memory_gib": machine["memory_gb"],
        "pyspark": machine["pyspark"],
        "kafka_connector": machine["kafka_connector"],
        "kafka_broker": machine["kafka_broker_and_clients"],
        "java": machine["java"],
        "seed": options.seed,
        "cluster": options.cluster,
        "rate": options.rate,
        "records": outcome.sent,
        "results": outcome.reconciliation.results,
        "failed_sends": outcome.failed_sends,
        "incidents": [{"fault": i.fault.kind, "seconds": i.seconds, "replayed": i.replayed} for i in outcome.incidents],
        "differences": [{"fault": row.kind, "lost": row.lost, "wrong": row.wrong} for row in outcome.rows],
    }
