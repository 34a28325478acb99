"""
Run the pipeline for hours at a steady rate, sample its resources, reconcile the results, and report growth.

The program exits with status 1 if it fails, if a result differs from the replay, or if a resource grows without a cause
that `growth.py` lists.
"""

import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import psycopg
from confluent_kafka import KafkaException

from examples.attribution.demo.html_page import write_demo
from examples.attribution.demo.live_view import LiveView
from examples.attribution.demo.publish import command_of
from examples.attribution.demo.report import Report, print_report
from examples.attribution.demo.run import run
from examples.attribution.settings import DemoSettings
from examples.attribution.soak.growth import MIN_MINUTES
from examples.attribution.soak.result import (
    FOLDER,
    GROWTH_COLUMNS,
    exit_status,
    folder_of,
    growth_rows,
    print_growth,
    result_of,
    unexpected,
    write,
)
from examples.attribution.soak.samples import Sample, sample, sampling
from spark_rtm.command_line import arguments_of
from spark_rtm.measure.machine import describe_machine
from spark_rtm.measure.page import Table
from spark_rtm.realtime.queries import stop_on_interrupt
from spark_rtm.services import new_folder
from spark_rtm.services.java import filter_stderr
from spark_rtm.services.kafka import kafka_broker
from spark_rtm.services.postgres import postgres_server
from spark_rtm.services.spark import build_session

PROGRAM = "python -m examples.attribution.soak"
SAMPLE_SECONDS = 10
MAKE_VARIABLES = ("duration", "rate", "publish")
"""Options that `make soak` accepts as variables."""


@dataclass(frozen=True)
class SoakOptions(DemoSettings):
    """The pipeline's settings and the options of the soak."""

    duration: float = 7200
    """Seconds of traffic after the warm-up."""
    rate: float = 60
    """Records per second, summed over all source topics."""
    publish: bool = False
    """
    Write the result and the charts to references/measured/ if no result differs from the replay, even with growth.
    """

    def __post_init__(self) -> None:
        """Raise ValueError if a setting is invalid or the run would be too short to judge growth."""
        super().__post_init__()
        if self.duration < MIN_MINUTES * 60:
            raise ValueError(
                f"duration is {self.duration:g}, but growth needs at least {MIN_MINUTES * 60} seconds; raise --duration"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak. Return 0 if all results equal the replay and nothing grows without a known cause, otherwise 1."""
    options = arguments_of(
        SoakOptions,
        arguments,
        program=PROGRAM,
        description=(__doc__ or "").strip(),
        example=f"{PROGRAM} --duration 7200 --rate 60",
        # The run starts Spark itself, and samples the checkpoints of this run alone.
        fixed={"master": "", "checkpoint_dir": ""},
    )
    try:
        report, samples = _run(options)
        print_report(report)
        result = result_of(report, samples, command_of(options, "soak", PROGRAM, MAKE_VARIABLES))
    except (RuntimeError, ValueError, TimeoutError, KafkaException, psycopg.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print_growth(result["growth"])
    for problem in unexpected(result["growth"]):
        print(f"growth: {problem}", file=sys.stderr)
    folder = folder_of(result, publish=options.publish)
    write(result, folder)
    growth = Table("Growth", GROWTH_COLUMNS, growth_rows(result["growth"]))
    page = write_demo([report], describe_machine(), FOLDER / "soak.html", "Ad attribution for hours", [growth])
    print(f"result and charts: {folder}/soak.json and {folder}/soak_*.svg\npage: {page}")
    return exit_status(result)


def _run(options: SoakOptions) -> tuple[Report, list[Sample]]:
    view, stop = LiveView(), threading.Event()
    with ExitStack() as stack:
        stack.enter_context(view)
        view.print_line("starting Kafka, PostgreSQL and Spark")
        bootstrap_servers = stack.enter_context(kafka_broker())
        dsn = stack.enter_context(postgres_server())
        with filter_stderr():
            spark = build_session("soak", slots=options.slots, shuffle_partitions=options.shuffle_partitions)
        stack.callback(spark.stop)
        stop_on_interrupt(stop)
        # As in the demonstration, Spark can still write to this folder after the last task.
        checkpoints = new_folder("checkpoints")
        settings = replace(options, checkpoint_dir=str(checkpoints))
        samples = stack.enter_context(
            sampling(lambda: sample(spark, checkpoints), FOLDER / "samples.jsonl", SAMPLE_SECONDS)
        )
        return run(settings, spark, bootstrap_servers, dsn, view, stop), samples


if __name__ == "__main__":
    sys.exit(main())
