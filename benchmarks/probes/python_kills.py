"""
Kill Python processes and JVMs of a real-time query with a Python processor, and count lost and repeated records.

Run the benchmark with `make bench-python-kills`. A keeper restarts the query, which counts records in state under
traffic. A record that is lost leaves a gap in the counts of its key, and a record that is counted twice adds a count.
Results are repeated after a kill, as after every restart.
"""

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter
from rich.console import Console

from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import BenchmarkOptions
from benchmarks.probes.counted import COUNTS, Counted
from benchmarks.probes.drains import KEYS, PARTITIONS, results, traffic, wait_for_flow
from benchmarks.probes.probe import machine_text, outcome_of
from spark_rtm.kafka.ticks import ticking
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime import control
from spark_rtm.realtime.keeper import Limits, keep
from spark_rtm.realtime.python_state import transform_with_state
from spark_rtm.realtime.queries import KAFKA_SINK, wait_until
from spark_rtm.services import kafka_broker, run_folder
from spark_rtm.services.spark import FAST_COMPILER_CONFS, build_session

TICKS = "ticks"
PYTHON, JVM = "a Python process", "the JVM"
WORKER = "spark_rtm.realtime.python_state"
LAST_RESULTS_SECONDS = 60.0
LIMITS = Limits(first_pause_seconds=0.2, max_pause_seconds=0.2, max_failures=1_000)


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    kills: int = 50
    """How often a Python process is killed."""
    jvm_kills: int = 10
    """How often the JVM is killed, with all that belongs to it."""
    duration: float = 200
    """Seconds after which nothing is killed any more; a run with another seed continues."""
    rate: int = 100
    """Records per second."""
    seed: int = 1
    """Seed of the choice of processes."""


def measure(options: Options, console: Console) -> Outcome:
    """Print the number of lost records and of those that were counted twice; each is a problem."""
    chance, sent = random.Random(options.seed), list[str]()
    with ExitStack() as stack:
        servers = stack.enter_context(kafka_broker())
        ensure_topics(servers, ["source", "counts"], PARTITIONS)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=run_folder())))
        stack.enter_context(ticking(servers, TICKS))
        command = [sys.executable, "-m", __spec__.name, servers, str(folder)]

        def start() -> psutil.Process:
            job = psutil.Popen(command, start_new_session=True)
            stack.callback(_kill_all, job)
            return job

        job = start()
        plan, done, until = _plan(options, chance), Counter[str](), time.monotonic() + options.duration
        with traffic(servers, options.rate, sent):
            for what in plan:
                wait_for_flow(servers, "counts")
                if time.monotonic() > until:
                    break
                if what == JVM:
                    _kill_all(job)
                    job = start()
                else:
                    _kill_python(job, chance)
                done[what] += 1
                console.print(f"{done.total()} of {len(plan)}: {what} was killed")
            wait_for_flow(servers, "counts")
        lost, more = differences(servers, sent)
    console.print(
        f"killed: {PYTHON} {done[PYTHON]} times, {JVM} {done[JVM]} times; {len(sent)} records: {lost} lost, {more} "
        f"counted twice; {machine_text()}"
    )
    problems = [f"{lost} records were lost, and {more} were counted twice"] if lost or more else []
    found = {"kills": done[PYTHON], "jvm_kills": done[JVM], "lost": lost, "counted_twice": more}
    return outcome_of("python-kills", [0] * len(sent), len(sent), problems, **found)


def _plan(options: Options, chance: random.Random) -> list[str]:
    """Return what is killed, in random order."""
    plan = [PYTHON] * options.kills + [JVM] * options.jvm_kills
    chance.shuffle(plan)
    return plan


def _kill_python(job: psutil.Process, chance: random.Random) -> None:
    """Kill a worker of the query. The daemon that has started it is left, because its workers survive it."""

    def is_killed() -> bool:
        with suppress(psutil.NoSuchProcess):
            found = [one for one in job.children(recursive=True) if _runs_worker(one)]
            if workers := [one for one in found if one.ppid() in {other.pid for other in found}]:
                chance.choice(workers).kill()
                return True
        return False

    wait_until(is_killed, LAST_RESULTS_SECONDS, "a Python process of the query")


def _runs_worker(process: psutil.Process) -> bool:
    with suppress(psutil.Error):  # a zombie has no command
        return WORKER in process.cmdline()
    return False


def differences(servers: str, sent: Iterable[str]) -> tuple[int, int]:
    """Return how many counts are missing, and how many are there that no record explains."""
    expected = {f"{int(number) % KEYS} {int(number) // KEYS + 1}" for number in sent}
    with suppress(TimeoutError):
        wait_until(lambda: expected <= results(servers, "counts").keys(), LAST_RESULTS_SECONDS, "the last results")
    found = results(servers, "counts").keys()
    return len(expected - found), len(found - expected)


def _kill_all(job: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        family = [*job.children(recursive=True), job]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family)


def run_job(servers: str, folder: Path) -> None:
    """Keep the query running until the process is killed."""
    spark = build_session("python-kills", slots=8, confs=FAST_COMPILER_CONFS)
    writer = _writer(spark, servers, folder)
    keep(spark, {"counts": writer.start}, limits=LIMITS)


def _writer(spark: SparkSession, servers: str, folder: Path) -> DataStreamWriter:
    source = spark.readStream.format(control.SOURCE).option("kafka.bootstrap.servers", servers)
    source = source.option("startingOffsets", "earliest")
    rows = source.option("subscribe", "source").load()
    rows = rows.selectExpr(
        "cast(key as string) key", "cast(cast(value as string) as long) number", "unix_millis(timestamp) appended_ts"
    )
    ticks = source.option("subscribe", TICKS).load()
    counts = transform_with_state(rows, ["key"], Counted(), COUNTS, ticks).where("number is not null")
    writer = counts.select("key", F.col("count").cast("string").alias("value")).writeStream.format("kafka")
    writer = writer.option("kafka.bootstrap.servers", servers).options(**KAFKA_SINK, topic="counts")
    writer = writer.option("checkpointLocation", str(folder / "counts")).queryName("counts").outputMode("update")
    real_time: DataStreamWriter = writer.trigger(realTime="5 seconds")  # type: ignore[call-overload]
    return real_time


BENCHMARK = Benchmark(
    "python-kills",
    __doc__,
    Options,
    measure,
    example="--kills 50 --jvm-kills 10 --duration 200",
    presets={"quick": {"kills": 3, "jvm_kills": 1}},
)

if __name__ == "__main__":
    run_job(sys.argv[1], Path(sys.argv[2]))
