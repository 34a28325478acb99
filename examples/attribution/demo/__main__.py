"""
Run the demonstration: start servers and queries, send traffic, show progress, and print a report.

The program exits with status 1 if it fails or if a result differs from the replay.
"""

import signal

if __name__ == "__main__":  # Ctrl-C during the following imports ends the program without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import sys
import textwrap
from collections.abc import Iterable, Sequence

import psycopg
from confluent_kafka import KafkaException

from examples.attribution.demo.cli import DemoOptions, parse
from examples.attribution.demo.html_page import write_demo
from examples.attribution.demo.live_view import LiveView
from examples.attribution.demo.publish import publish
from examples.attribution.demo.report import Report, print_report, print_verdict
from examples.attribution.demo.run import run_all
from spark_rtm.measure.machine import describe_machine
from spark_rtm.services.java import hide_logged


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration. Return 0 if all results match the replay, 130 after Ctrl-C, and 1 otherwise."""
    options = parse(arguments)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    hide_logged(KeyboardInterrupt)  # of the second Ctrl-C
    try:
        view = LiveView()
        view.print_line(introduction(options))
        beside = options.compare and not options.publish
        reports = run_all(options, view, beside=beside, in_both_modes=options.publish, on_cluster=options.cluster)
        for report in reports:
            print_report(report)
        if len(reports) > 1:
            publish(options, reports[0], reports[1])
        page = write_demo(reports, describe_machine())
        print_verdict(reports, [f"page: {page}", *next_steps(options)])
    except KeyboardInterrupt:
        print("interrupted; the results were not checked", file=sys.stderr)
        return 130
    except (RuntimeError, ValueError, TimeoutError, KafkaException, psycopg.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return exit_status(reports)


def next_steps(options: DemoOptions) -> list[str]:
    """Return lines that suggest which command to run next."""
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


def exit_status(reports: Iterable[Report]) -> int:
    """Return 0 if every run has results and all results match the replay, otherwise 1."""
    return 0 if all(r.reconciliation.results and not r.reconciliation.differences for r in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
