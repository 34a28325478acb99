"""Run one alert job until Ctrl-C: `python -m examples.alerts payments_to_flagged`."""

import sys
from collections.abc import Sequence
from importlib import import_module

from examples.alerts.job import Job, run

JOBS: dict[str, Job] = {
    name: import_module(f"examples.alerts.{name}").JOB
    for name in (
        "payments_to_flagged",
        "logs_to_leaks",
        "alarms_to_first",
        "heartbeats_to_offline",
        "logins_to_spikes",
        "lifts_to_notices",
        "readings_to_incidents",
    )
}
USAGE = "usage: python -m examples.alerts JOB [OPTION ...]"


def main(arguments: Sequence[str]) -> int:
    """Run the job named by the first argument, and return its exit status. Return 2 if no job has this name."""
    name, *options = arguments or [""]
    if name in JOBS:
        return run(JOBS[name], options)
    jobs = "\n".join(f"  {job.name:<22} {job.summary}" for job in JOBS.values())
    text = f"{USAGE}\n\njobs:\n{jobs}\n\n`python -m examples.alerts JOB --help` lists the options of a job."
    if name in {"-h", "--help"}:
        print(text)
        return 0
    print(f"{text}\n\nerror: {name!r} is not a job; use one of {', '.join(JOBS)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
