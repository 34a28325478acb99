"""Run `prove` on the queries of this repository, and write the verdicts to `build/prove_examples.json`."""

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyspark

from scripts.pack import files
from spark_rtm.prove.engine import Bench, bench
from spark_rtm.prove.job import target
from spark_rtm.prove.loop import Options
from spark_rtm.prove.run import prove
from spark_rtm.prove.verdicts import CHECKS, GOOD, Verdict
from spark_rtm.text import markdown

WRITTEN = files.ROOT / "build/prove_examples.json"
TARGETS = (
    "examples/quickstart.py:shouts_of",
    "examples/alerts/payments_to_flagged.py:payments_to_flagged",
    "examples/alerts/logs_to_leaks.py:logs_to_leaks",
    "examples/alerts/alarms_to_first.py:alarms_to_first",
    "examples/alerts/logins_to_spikes.py:logins_to_spikes",
    "examples/alerts/lifts_to_notices.py:lifts_to_notices",
    "examples/alerts/readings_to_incidents.py:readings_to_incidents",
    "examples/attribution/kafka_to_events.py:kafka_to_events",
    "examples/attribution/events_to_attributed.py:events_to_attributed",
    "examples/attribution/attributed_to_pacing.py:attributed_to_pacing",
)
PAGES = ("references/real_time_mode.md", "references/kafka_patterns.md", "references/state.md")
"""Pages from which the first complete job is proved."""
# Latency is not the subject here.
OPTIONS = Options(duration=2)


def main() -> None:
    """Run `prove` on each target, and print and write the verdicts."""
    os.chdir(files.ROOT)
    # The session changes the current folder, so functions are loaded before it starts.
    loaded = {name: target.load(name) for name in TARGETS}
    with bench(0) as services:
        loaded |= {page: _job_of(services, page) for page in PAGES}
        targets = [{"target": name, "verdicts": _statuses(_proved(services, name, loaded[name]))} for name in loaded]
    today = datetime.now(UTC).date().isoformat()
    conditions = {"command": "make prove-examples", "date": today, "pyspark": pyspark.__version__}
    text = json.dumps({"conditions": conditions, "targets": targets}, indent=1)
    WRITTEN.parent.mkdir(exist_ok=True)
    WRITTEN.write_text(f"{text}\n", encoding="utf-8")
    print(f"wrote {files.relative(files.ROOT, WRITTEN)}")


def _job_of(services: Bench, page: str) -> target.Job:
    """Write the first complete job on a page to a file, and return the target that is loaded from the file."""
    text = (files.ROOT / page).read_text(encoding="utf-8")
    codes = [f.code for f in markdown.fences(text) if f.language == "python" and not f.options]
    path = services.folder / f"{Path(page).stem}.py"
    path.write_text(next(code for code in codes if "readStream" in code and ".start()" in code), encoding="utf-8")
    return target.load(str(path))


def _proved(services: Bench, name: str, loaded: target.Job) -> list[Verdict]:
    print(name, flush=True)
    verdicts = prove(services, loaded, OPTIONS, lambda step: print(f"  {step}", file=sys.stderr, flush=True))
    for verdict in verdicts:
        print(f"  {verdict.text}", flush=True)
    return verdicts


def _statuses(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Map each check to the status and evidence of its bad verdicts, or to `good` if it has none."""
    found = {check: [v for v in verdicts if v.check == check] for check in CHECKS}
    bad = {check: [f"{v.status}: {v.evidence}" for v in those if v.status != GOOD] for check, those in found.items()}
    return {check: "; ".join(bad[check]) or GOOD for check, those in found.items() if those}


if __name__ == "__main__":
    main()
