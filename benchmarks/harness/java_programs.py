"""
The Java programs in `java/`, which are compiled on demand: the baseline, the load generator, and Kafka Streams.

The load generator sends in an open loop: records are sent on time even while the engine pauses, and the latency of each
record is measured from its due time. Java threads send within 0.1 ms of the due time, even on a busy machine. Python
threads do not.
"""

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import numpy as np

from benchmarks.harness.engine import Engine, Run
from benchmarks.results.run_result import RecordTimes, Traffic
from spark_rtm.services import broker_jars, java_home, jvm_folder
from spark_rtm.services.child import Child, log_tail, start_child, wait_until_ready
from spark_rtm.services.folders import cached_folder
from spark_rtm.services.kafka import archive_options

SOURCES_DIR = Path(__file__).parent / "java"
MIN_JAVA = "17"
START_SECONDS = 30.0
HEAP_OPTIONS = ("-Xms512m", "-Xmx2g", "-XX:MaxGCPauseMillis=10")
MIN_OPTIMIZED_WARM_UP_SECONDS = 20
QUICK_COMPILER_OPTION = "-XX:TieredStopAtLevel=1"
"""JVM option for short warm-ups. It disables the optimizing compiler (C2), which would take seconds of CPU time."""
TIMES_PER_RECORD = 5
TIMES_FILE = "record_times.bin"


def java_command(main_class: str, jars: Sequence[Path], options: Sequence[str], arguments: Iterable[str]) -> list[str]:
    """Return the command that runs a Java program with `jars`. The program logs only warnings and errors."""
    classes = _compiled(SOURCES_DIR / f"{main_class}.java", jars)
    # A client loads classes from the archive of the broker, so its class path must begin like the broker's.
    class_path = os.pathsep.join(map(str, (*jars, classes)))
    settings = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", f"-Djava.io.tmpdir={jvm_folder()}")
    return [str(java_home() / "bin" / "java"), *options, *settings, "-cp", class_path, main_class, *arguments]


def _compiled(source: Path, jars: Iterable[Path]) -> Path:
    """Return the folder with the compiled `source`. Raise RuntimeError if the compiler is missing or fails."""
    class_path = os.pathsep.join(map(str, jars))
    digest = sha256(source.read_bytes() + class_path.encode()).hexdigest()[:16]

    def fill(folder: Path) -> None:
        javac = java_home() / "bin" / "javac"
        if not javac.exists():
            raise RuntimeError(
                f"the Java in {java_home()} has no compiler, so {source.name} cannot be compiled and nothing can be "
                f"measured; install JDK {MIN_JAVA} or newer (Debian: default-jdk-headless), or set JAVA_HOME to a JDK"
            )
        command = [str(javac), "--release", MIN_JAVA, "-d", str(folder), "-cp", class_path, str(source)]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        if finished.returncode:
            raise RuntimeError(f"{str(source)!r} does not compile; correct these errors:\n{finished.stderr}")

    return cached_folder(f"classes/{source.stem}-{digest}", fill)


def _client_command(main_class: str, arguments: Iterable[object], options: Sequence[str]) -> list[str]:
    """Return the command that runs a Java program with the broker's client library."""
    return java_command(main_class, broker_jars(), [*archive_options(), *options], map(str, arguments))


@contextmanager
def echo(run: Run) -> Iterator[Engine]:
    """Start the baseline, a Kafka client that copies each record without an engine."""
    arguments = (run.bootstrap_servers, run.source, run.target, run.partitions)
    command = _client_command("Echo", arguments, ("-Xmx256m",))
    child = start_child("baseline (echo)", command, log_path=run.folder / "echo.log")
    try:
        wait_until_ready(child, lambda: "ready" in child.log_path.read_text(), START_SECONDS)
        yield Engine((child,))
    finally:
        child.stop()


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
    command = _client_command(
        "LoadGenerator", arguments, [*HEAP_OPTIONS, *([QUICK_COMPILER_OPTION] if is_short else [])]
    )
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
