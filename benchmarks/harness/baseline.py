"""
The baseline: a Kafka client that copies each record without an engine.

Only the broker and the machine cause its latency. Every engine adds its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.java_program import client_command
from benchmarks.harness.run import Case
from spark_rtm.services.child import start_child, wait_until_ready

BASELINE = "baseline (echo)"
START_SECONDS = 30.0


@contextmanager
def echo(run: Run) -> Iterator[Engine]:
    """Start the baseline program, which always runs the workload `echo`."""
    arguments = (run.bootstrap_servers, run.source, run.target, str(run.partitions))
    child = start_child(BASELINE, client_command("Echo", arguments, ("-Xmx256m",)), log_path=run.folder / "echo.log")
    try:
        wait_until_ready(child, lambda: "ready" in child.log_path.read_text(), START_SECONDS)
        yield Engine((child,))
    finally:
        child.stop()


def baseline_case() -> Case:
    """Return the case that all engines are compared with."""
    return Case(BASELINE, "echo", echo)
