"""
The floor: a raw client that reads each record and writes it as it is.

Records arrive, the same records leave.
What an engine takes beyond this is its own; this is the price of the broker and the machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from examples.benchmarks.harness.engine import Engine, Run
from examples.benchmarks.harness.java_program import client_command
from examples.services.child import start_child, wait_until_ready

START_SECONDS = 30.0


@contextmanager
def raw_echo(run: Run) -> Iterator[Engine]:
    """Yield the echo; its work is `echo`, whatever engines it is compared with do."""
    arguments = (run.bootstrap_servers, run.source, run.target, str(run.partitions))
    child = start_child("raw echo", client_command("Echo", arguments, ("-Xmx256m",)), log_path=run.folder / "echo.log")
    try:
        wait_until_ready(child, lambda: "ready" in child.log_path.read_text(), START_SECONDS)
        yield Engine((child,))
    finally:
        child.stop()
