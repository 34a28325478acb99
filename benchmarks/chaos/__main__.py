"""
Run the pipeline under random faults, and print the recovery time and the replayed records of each kind of fault.

The program exits with status 1 if a result is lost or wrong, if the broker does not accept a record, or if the pipeline
does not recover from a fault.
"""

import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import psycopg
from confluent_kafka import KafkaException

from benchmarks.chaos.faults import KINDS, plan
from benchmarks.chaos.parts import disk
from benchmarks.chaos.report import Outcome, print_outcome
from benchmarks.chaos.run import ChaosOptions, run
from examples.attribution.demo.live_view import LiveView
from examples.attribution.demo.publish import command_of
from spark_rtm.command_line import arguments_of
from spark_rtm.measure.cpu import describe_machine
from spark_rtm.realtime.queries import stop_on_interrupt
from spark_rtm.services.java import filter_stderr

PROGRAM = "python -m benchmarks.chaos"
PUBLISHED_FILE = Path("references/measured/chaos.json")
MAKE_VARIABLES = ("duration", "rate", "seed", "faults", "python_trigger", "cluster", "standby", "publish")
"""Options that `make chaos` accepts as Make variables."""

# The Kafka clients of the traffic and the audit print an error for each connection to a broker that a fault has
# stopped.
OUTAGE_LOGS = (b"|FAIL|rdkafka#", b"|ERROR|rdkafka#")
EXTERNAL = ("KAFKA_BOOTSTRAP_SERVERS", "POSTGRES_DSN")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all planned faults. Return 0 if no result is lost or wrong and the pipeline recovers, otherwise 1."""
    options = parse(arguments)
    try:
        outcome = _run(options)
        print_outcome(outcome, options.seed)
        if options.publish:
            publish(options, outcome)
    except (RuntimeError, ValueError, TimeoutError, KafkaException, psycopg.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return outcome.status


def parse(arguments: Sequence[str] | None) -> ChaosOptions:
    """Parse the command line into options. If an option is invalid, the program exits with status 2."""
    kinds = "\n".join(f"  {name:21} {kind.what}" for name, kind in KINDS.items())
    return arguments_of(
        ChaosOptions,
        arguments,
        program=PROGRAM,
        description="Run the pipeline under random faults, and check that no result is lost or wrong.\n\n"
        "The pipeline has recovered when every source partition has a result in the database for a record that was "
        f"sent after the fault and after the last restart that the fault caused.\n\nfaults:\n{kinds}",
        example=f"{PROGRAM} --seed 3 --count 5 --faults kill-broker,pause-database",
        fixed={"trigger": "real-time", "master": "", "topic_prefix": "", "checkpoint_dir": ""},
    )


def _run(options: ChaosOptions) -> Outcome:
    if external := [name for name in EXTERNAL if os.environ.get(name)]:
        raise RuntimeError(
            f"the environment sets {' and '.join(external)}, so faults would affect servers that other programs may "
            "use; unset the variables, so the run starts its own servers"
        )
    # This call comes first, because threads and child processes inherit the mounts of this process.
    is_mounted = disk.own_mounts()
    stop = threading.Event()
    stop_on_interrupt(stop)
    with LiveView() as view, filter_stderr(*OUTAGE_LOGS):
        kinds = _kinds(options, is_mounted=is_mounted)
        faults = plan(options.seed, options.planned, {name: KINDS[name] for name in kinds})
        view.print_line(f"seed {options.seed}: {len(faults)} faults of {len(kinds)} kinds")
        if not is_mounted and not options.chosen:
            view.print_line("fill-disk is skipped, because only root on Linux can mount a small file system")
        return run(options, faults, view, stop, is_mounted=is_mounted)


def _kinds(options: ChaosOptions, *, is_mounted: bool) -> list[str]:
    """Return the chosen kinds or, by default, all possible kinds. Raise RuntimeError if one is impossible here."""
    if not is_mounted and "fill-disk" in options.chosen:
        raise RuntimeError(
            "fill-disk needs a small file system, which only root on Linux can mount; run the command as root on "
            "Linux, or omit fill-disk"
        )
    possible = {"cluster": options.cluster, "mount": is_mounted, "standby": options.standby}
    met = {"", *(need for need, is_met in possible.items() if is_met)}
    return options.chosen or [name for name, kind in KINDS.items() if kind.needs in met]


def publish(options: ChaosOptions, outcome: Outcome, path: Path = PUBLISHED_FILE) -> None:
    """Add the run to `path`, replacing any run with the same command. Raise ValueError for an interrupted run."""
    if outcome.is_interrupted:
        raise ValueError(f"Ctrl-C ended the run, so {path} was not changed; repeat the run")
    earlier = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    new = {
        "command": command_of(options, "chaos", PROGRAM, MAKE_VARIABLES),
        **describe_machine(),
        "load_average": round(os.getloadavg()[-1], 1),
        "seed": options.seed,
        "cluster": options.cluster,
        "rate": options.rate,
        "records": outcome.sent,
        "results": outcome.reconciliation.results,
        "failed_sends": outcome.failed_sends,
        "lost": outcome.lost,
        "wrong": outcome.wrong,
        "incidents": [{"fault": i.fault.kind, "seconds": i.seconds, "replayed": i.replayed} for i in outcome.incidents],
    }
    content = {
        "kinds": {name: kind.what for name, kind in KINDS.items()},
        "runs": [*(run for run in earlier if run["command"] != new["command"]), new],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
