"""
Send records in an open loop, and store each record's due, send and append times and its output's arrival.

Records are sent on time even while the engine pauses. The latency of each record is measured from its due time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.harness.engine import Run
from benchmarks.harness.java_program import client_command
from benchmarks.harness.workloads import INVALID_EVERY
from benchmarks.results.record_times import RecordTimes, Traffic
from spark_rtm.services.child import Child, log_tail, start_child

HEAP_OPTIONS = ("-Xms512m", "-Xmx2g", "-XX:MaxGCPauseMillis=10")
MIN_OPTIMIZED_WARM_UP_SECONDS = 20
QUICK_COMPILER_OPTION = "-XX:TieredStopAtLevel=1"
"""JVM option for short warm-ups. It disables the optimizing compiler, which would take seconds of CPU time."""
TIMES_PER_RECORD = 5
TIMES_FILE = "record_times.bin"


@contextmanager
def sending(run: Run, traffic: Traffic) -> Iterator[Child]:
    """Start the load generator, which exits when the last output has arrived or is overdue."""
    arguments = [
        *(run.bootstrap_servers, run.source, run.target, run.rejected, run.partitions, run.workload),
        *(traffic.records, traffic.rate, traffic.first_records, traffic.warm_up_rate),
        *(traffic.drain_seconds, run.folder / TIMES_FILE),
        *(run.shape.keys, run.shape.stride, run.shape.record_bytes),
    ]
    is_short = traffic.warm_up_seconds < MIN_OPTIMIZED_WARM_UP_SECONDS
    options = [*HEAP_OPTIONS, *([QUICK_COMPILER_OPTION] if is_short else [])]
    command = client_command("LoadGenerator", map(str, arguments), options)
    child = start_child("load generator", command, log_path=run.folder / "load_generator.log")
    try:
        yield child
    finally:
        child.stop()


def read_times(run: Run, generator: Child) -> RecordTimes:
    """Return the load generator's times. Raise RuntimeError if the load generator failed."""
    path: Path = run.folder / TIMES_FILE
    if not path.exists():
        raise RuntimeError(
            f"the load generator failed, so nothing was measured. Last lines of {generator.log_path}:\n"
            f"{log_tail(generator.log_path)}"
        )
    values = np.fromfile(path, dtype=">i8").astype(np.int64)
    return RecordTimes(*values.reshape(-1, TIMES_PER_RECORD).T)


def needs_answer(run: Run, traffic: Traffic) -> npt.NDArray[np.bool_]:
    """Return a mask of the records with a required output. Aggregations drop invalid records."""
    seqs = np.arange(traffic.records)
    is_valid = seqs % INVALID_EVERY != INVALID_EVERY - 1
    return is_valid if run.workload == "stateful" else np.ones_like(seqs, dtype=bool)
