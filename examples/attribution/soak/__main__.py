"""
Run the pipeline for hours at a steady rate, sample its resources, reconcile the results, and judge what grows.

The program exits with status 1 if it fails, if a result differs from the replay, or if something grows that should not.
"""

import json
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from examples.attribution.demo.live_view import LiveView
from examples.attribution.demo.report import Report, print_report
from examples.attribution.demo.run import run
from examples.attribution.demo.stderr_filter import filter_worker_logs
from examples.attribution.settings import Settings
from examples.attribution.soak.latencies import latency_by_minute
from examples.attribution.soak.samples import Sample, sample, sampling
from examples.command_line import arguments_of
from examples.measure.machine import describe_machine
from examples.realtime.queries import stop_on_interrupt
from examples.services import run_folder
from examples.services.kafka import kafka_broker
from examples.services.postgres import postgres_server
from examples.services.spark import build_session

PROGRAM = "python -m examples.attribution.soak"
FOLDER = Path("build/soak")


@dataclass(frozen=True)
class SoakOptions(Settings):
    """The pipeline's settings and the options specific to the soak."""

    duration: float = 7200
    """Seconds of traffic after the warm-up."""
    rate: float = 60
    """Records per second, summed over all source topics."""
    sample_seconds: float = 10
    """Seconds between two samples of the resources."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak; return 0 if all results equal the replay, otherwise 1."""
    options = arguments_of(
        SoakOptions,
        arguments,
        program=PROGRAM,
        description=(__doc__ or "").strip(),
        example=f"{PROGRAM} --duration 7200 --rate 60",
    )
    report, samples = _run(options)
    print_report(report)
    differences = len(report.reconciliation.differences)
    content = {
        "conditions": {
            **describe_machine(),
            "rate": options.rate,
            "duration_seconds": options.duration,
            "interval_seconds": options.interval_seconds,
            "hot_campaign_share": options.hot_campaign_share,
        },
        "records": report.sent.records,
        "achieved_rate": round(report.sent.rate, 1),
        "differences": differences,
        "latency": latency_by_minute(report.log, report.sent.measured_from_ms(options)),
        "pauses_ms": report.pauses_ms,
        "samples": samples,
    }
    (FOLDER / "run.json").write_text(json.dumps(content) + "\n")
    return 1 if differences else 0


def _run(options: SoakOptions) -> tuple[Report, list[Sample]]:
    view, stop = LiveView(), threading.Event()
    with ExitStack() as stack:
        stack.enter_context(view)
        view.print_line("starting Kafka, PostgreSQL and Spark")
        bootstrap_servers = stack.enter_context(kafka_broker())
        dsn = stack.enter_context(postgres_server())
        with filter_worker_logs():
            spark = build_session("soak", slots=options.slots, shuffle_partitions=options.shuffle_partitions)
        stack.callback(spark.stop)
        stop_on_interrupt(stop)
        checkpoints = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="checkpoints-", dir=run_folder())))
        settings = replace(options, checkpoint_dir=str(checkpoints))
        samples = stack.enter_context(
            sampling(lambda: sample(spark, checkpoints), FOLDER / "samples.jsonl", options.sample_seconds)
        )
        return run(settings, spark, bootstrap_servers, dsn, view, stop), samples


if __name__ == "__main__":
    sys.exit(main())
