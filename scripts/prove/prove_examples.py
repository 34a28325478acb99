"""
Prove the queries of this repository, and write the table of `references/prove.md` (`make prove-examples`).

All targets share one session and one broker. Arguments restrict the targets to those that contain a text.
"""

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import pyspark

from scripts.pack import files
from scripts.prove.query import Options
from scripts.prove.run import prove
from scripts.prove.subjects import target
from scripts.prove.subjects.bench import Bench, bench
from scripts.prove.verdicts.verdict import CHECKS, GOOD, Verdict

PUBLISHED = files.ROOT / "references/measured/prove_examples.json"
TARGETS = (
    "examples/quickstart.py:shouts_of",
    "examples/alerts/payments_to_flagged.py:payments_to_flagged",
    "examples/alerts/logs_to_leaks.py:logs_to_leaks",
    "examples/alerts/alarms_to_first.py:alarms_to_first",
    "examples/attribution/kafka_to_events.py:kafka_to_events",
    "examples/attribution/events_to_attributed.py:events_to_attributed",
    "examples/attribution/attributed_to_pacing.py:attributed_to_pacing",
)
# Latency is not the subject here.
OPTIONS = Options(duration=2)


def main(parts: Sequence[str] = ()) -> None:
    """Prove each target, print its verdicts, and publish them if all targets were proved."""
    chosen = [name for name in TARGETS if not parts or any(part in name for part in parts)]
    os.chdir(files.ROOT)
    loaded = {name: target.load(name) for name in chosen}
    with bench(0) as services:
        rows = [{"target": name, **_statuses(_proved(services, name, loaded[name]))} for name in chosen]
    conditions = {
        "command": "make prove-examples",
        "date": datetime.now(UTC).date().isoformat(),
        "pyspark": pyspark.__version__,
    }
    if not parts:
        PUBLISHED.write_text(json.dumps({"conditions": conditions, "targets": rows}, indent=1) + "\n")
        print(f"wrote {files.relative(files.ROOT, PUBLISHED)}")


def _proved(services: Bench, name: str, loaded: target.Target | target.Job) -> list[Verdict]:
    print(name, flush=True)
    verdicts = prove(services, loaded, OPTIONS, lambda step: print(f"  {step}", file=sys.stderr, flush=True))
    for verdict in verdicts:
        print(f"  {verdict.text}", flush=True)
    return verdicts


def _statuses(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return the worst status of each check, and the evidence of what is not good."""
    found = {check: [v for v in verdicts if v.check == check] for check in CHECKS}
    return {
        check: "; ".join(f"{v.status}: {v.evidence}" for v in those if v.status != GOOD) or GOOD
        for check, those in found.items()
        if those
    }


if __name__ == "__main__":
    main(sys.argv[1:])
