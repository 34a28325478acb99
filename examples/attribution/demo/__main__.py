"""
Run the demonstration: start servers and queries, send traffic, show progress, and print a report.

The program exits with status 1 if it fails or if a result differs from the replay.
"""

import signal

if __name__ == "__main__":  # Ctrl-C during the following imports ends the program without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import psycopg
from confluent_kafka import KafkaException

from examples.attribution.demo.live_view import LiveView
from examples.attribution.demo.publish import PROGRAM, publish
from examples.attribution.demo.report import exit_status, print_report, print_verdict
from examples.attribution.demo.run import HIGH_RATE, Copies, run_all
from examples.attribution.settings import DemoSettings
from spark_rtm.command_line import arguments_of
from spark_rtm.services.java import hide_logged

HIGH_RATE_DEFAULTS = {
    # The optimizing compiler itself needs CPU time. After a warm-up of 25 s, half of the results are still seconds
    # late.
    "warm_up_seconds": 60.0,
    # Spark plans each batch again, and compiling the planner occupies the optimizing compiler. Longer intervals mean
    # fewer plans.
    "interval_seconds": 30,
    "python_interval_seconds": 10.0,
}
CLUSTER_RATE = 60
"""Default rate (records per second) on a cluster. It is low because each record costs more CPU time there."""


@dataclass(frozen=True)
class DemoOptions(DemoSettings):
    """The pipeline's settings and the options of the demonstration."""

    compare: bool = False
    """Also run the first query in micro-batch mode, at the same time and on the same records."""
    publish: bool = False
    """
    With --compare, run the whole pipeline first in real-time mode and then in micro-batch mode, and compare the runs.

    The latencies of both runs are written to references/measured/demo.json.
    """
    table: Literal["", "parquet", "delta"] = ""
    """Also copy the results into a table of this format with a second query, and compare the table with PostgreSQL."""
    cluster: bool = False
    """Start a standalone Spark cluster with two workers, and run the queries on it."""

    def __post_init__(self) -> None:
        """Raise ValueError if a setting or a combination of options is invalid."""
        super().__post_init__()
        if (self.publish and not self.compare) or (self.compare and self.trigger != "real-time"):
            raise ValueError(
                "--publish requires --compare, and --compare requires --trigger real-time; this run has "
                f"{'' if self.compare else 'no --compare and '}--trigger {self.trigger}"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration. Return 0 if all results match the replay, 130 after Ctrl-C, and 1 otherwise."""
    options = parse(arguments)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    hide_logged(KeyboardInterrupt)  # the second Ctrl-C
    try:
        view = LiveView()
        view.print_line(introduction(options))
        copies = Copies(options.compare and not options.publish, options.table)
        reports = run_all(options, view, copies, in_both_modes=options.publish, on_cluster=options.cluster)
        for report in reports:
            print_report(report)
        if len(reports) > 1:
            publish(options, reports[0], reports[1])
        print_verdict(reports, next_steps(options))
    except KeyboardInterrupt:
        print("interrupted; the results were not checked", file=sys.stderr)
        return 130
    except (RuntimeError, ValueError, TimeoutError, KafkaException, psycopg.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return exit_status(reports)


def parse(arguments: Sequence[str] | None) -> DemoOptions:
    """Parse the command line into options. If an option is invalid, the program exits with status 2."""
    return arguments_of(
        DemoOptions,
        arguments,
        program=PROGRAM,
        description="Send ad traffic through the pipeline (Kafka, Spark, Kafka, PostgreSQL) and check all results.",
        example=f"{PROGRAM} --duration 60 --rate 200 --compare",
        presets={"cluster": {"rate": CLUSTER_RATE}, f"rate {HIGH_RATE}": HIGH_RATE_DEFAULTS},
    )


def next_steps(options: DemoOptions) -> list[str]:
    """Return lines that suggest which commands to run next."""
    compare = [] if options.compare else ["next: make demo COMPARE=1    also decodes in micro-batch mode"]
    return [*compare, "next: make chaos             the same checks under faults"]


def introduction(options: DemoOptions) -> str:
    """Return a description of the demonstration, including the expected duration."""
    modes = f"{options.trigger} mode"
    if options.publish:
        modes += ", then in micro-batch mode"
    elif options.compare:
        modes += ". The first query also runs in micro-batch mode, with one batch per second"
    seconds = (options.warm_up_seconds + options.duration + 45) * (2 if options.publish else 1) + 20
    takes = f"takes about {-(-seconds // 60):.0f} minutes" if options.duration else "ends after Ctrl-C"
    text = f"Ad traffic goes through Kafka, five Spark queries and PostgreSQL, in {modes}. "
    return textwrap.fill(f"{text}Then every result is compared with a replay in plain Python. The run {takes}.", 80)


if __name__ == "__main__":
    sys.exit(main())
