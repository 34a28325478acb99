"""
Kill a job with exactly-once writes, at chosen steps of the protocol and at random moments, and count its results.

A stateless and a stateful query run under traffic. `kill_steps.scala` ends the JVM at a step. After each series of
kills, the queries commit all records, and readers of committed records must find each result once.
"""

import json
import os
import random
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from benchmarks.harness.benchmark import BenchmarkOptions, Outcome
from benchmarks.probes.drains import KEYS, LONG_SECONDS, QUERIES, differences, traffic, wait_for_flow
from benchmarks.probes.probe import PARTITIONS, outcome_of
from benchmarks.probes.transactions import copies_of
from benchmarks.spark.engine import start_process
from spark_rtm.kafka.consumer import consumer_from_start, end_offsets
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime import control
from spark_rtm.realtime.exactly_once import to_kafka
from spark_rtm.realtime.keeper import Limits, keep
from spark_rtm.realtime.positions import committed_position
from spark_rtm.realtime.queries import KAFKA_SINK, wait_until
from spark_rtm.services import run_folder
from spark_rtm.services.child import Child, log_tail, running
from spark_rtm.services.cluster import job_confs, standalone_cluster
from spark_rtm.services.kafka import LocalKafka
from spark_rtm.services.scala import compiled
from spark_rtm.services.spark import build_session

RECOVERY = "during the recovery"
COMMITTED = r"after rename .*/commits/\d+"
RECORD_DELETED = r".* delete .*/transactions/\d.*"
STEPS = {
    "before the record of a transaction": [r"before rename .*/transactions/\d.*"],
    "between the records of two partitions": [r"after rename .*/transactions/\d.*"],
    "before the offset log": [r"before rename .*/offsets/\d+"],
    "between the offset log and the commit log": [r"before rename .*/commits/\d+"],
    "between the commit log and the commit of the transactions": [COMMITTED],
    "after the commit of one transaction": [r"before delete .*/transactions/\d.*"],
    "between the commits of two transactions": [r"after delete .*/transactions/\d.*"],
    RECOVERY: [COMMITTED, RECORD_DELETED],
    "after the commit log of a repeated batch": [r"before rename .*/commits/\d+", COMMITTED],
}
"""Steps of the protocol, each with the checkpoint operations at which the JVM ends: first now, then after restarts."""
RANDOM = "a random moment"
MAX_BATCHES = 100_000  # more than a series has, so the logs keep all of them
WAIT_SECONDS, DRAIN_SECONDS = 180.0, 600.0
PATIENT = Limits(max_pause_seconds=4, max_failures=1_000)
PRESETS = {"quick": {"series": 1, "kills": 3}}


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options for this benchmark."""

    series: int = 10
    """Number of series. Each series has its own topics and checkpoints, and ends with a count of its results."""
    kills: int = 10
    """Number of kills per series."""
    rate: int = 100
    """Records per second."""
    seed: int = 1
    """Seed for the choice of steps and moments."""
    broker: bool = False
    """Kill the broker instead of the job, at random moments."""
    cluster: bool = False
    """Run the job on a standalone cluster with two executors, and kill executors, drivers or both."""
    log: Path = Path("build/kills.jsonl")
    """File with one line per kill and per series. A repeated command continues after its last series."""

    @property
    def probe(self) -> str:
        """Return the name of the published row."""
        return "kills-on-a-cluster" if self.cluster else "broker-kills" if self.broker else "kills"


@dataclass
class Job:
    """A job's process, which starts its queries when the file `go` exists."""

    servers: str
    folder: Path
    master: str
    number: int = 0
    child: Child | None = None
    spare: Child | None = None

    def _process(self) -> Child:
        self.number += 1
        argument = {"servers": self.servers, "folder": self.folder, "master": self.master, "number": self.number}
        return start_process("killed job", argument, self.folder / "job.log", "benchmarks.probes.kills")

    def start(self) -> None:
        """Start the queries in a process that is ready, and prepare another process."""
        self.child = self.spare or self._process()
        number = self.number
        (self.folder / f"go-{number}").touch()
        self.spare = None if self.master else self._process()

    def kill(self) -> None:
        """Kill the process and its JVM."""
        if self.child:
            self.child.kill()

    def close(self) -> None:
        """Kill all processes."""
        for child in filter(None, (self.child, self.spare)):
            child.kill()

    def kill_executor(self) -> None:
        """Kill one executor of the cluster."""
        with suppress(psutil.Error, IndexError):
            children = psutil.Process().children(recursive=True)
            random.choice([one for one in children if "CoarseGrainedExecutorBackend" in str(one.cmdline())]).kill()

    def drain(self, source: str) -> dict[str, float]:
        """Wait until the end of a topic and all transactions are committed. Return the number of unread records."""
        consumer, began = consumer_from_start(self.servers, {source: PARTITIONS}), time.monotonic()
        ends = {str(number): end for (_, number), end in end_offsets(consumer, consumer.assignment()).items()}
        consumer.close()

        def committed() -> list[Mapping[str, int]]:
            return [committed_position(self.folder / name).sources[0].get(source, {}) for name in QUERIES]

        def is_drained() -> bool:
            if self.child and not self.child.is_running():
                raise RuntimeError(f"the job ended before its queries were drained\n{log_tail(self.child.log_path)}")
            waiting = [*self.folder.glob("*/transactions/[0-9]*")]
            return committed() == [ends] * len(QUERIES) and not waiting

        unread = len(QUERIES) * sum(ends.values()) - sum(sum(each.values()) for each in committed())
        wait_until(is_drained, DRAIN_SECONDS, f"a commit of all queries at {ends} and of all their transactions")
        return {"unread": unread, "drain_seconds": round(time.monotonic() - began, 1)}


def measure(options: Options, console: Console) -> Outcome:
    """Count the lost and the repeated results of all series in the log, and report both as problems."""
    options.log.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        broker = stack.enter_context(running(LocalKafka()))
        master = stack.enter_context(standalone_cluster()) if options.cluster else ""
        for series in range(len(_ended(options)), options.series):
            folder = Path(stack.enter_context(TemporaryDirectory(dir=run_folder())))
            _series(options, series, broker, Job(broker.bootstrap_servers, folder, master), console)
    ended = _ended(options)
    found = {name: sum(one[name] for one in ended) for name in ("kills", "results", "lost", "repeated")}
    problems = [f"{found[name]} results were {name}" for name in ("lost", "repeated") if found[name]]
    return outcome_of(console, options.probe, [], 0, problems, seed=options.seed, **found)


def _ended(options: Options) -> list[dict[str, Any]]:
    """Return the series in the log that this command has already ended."""
    lines = options.log.read_text(encoding="utf-8").splitlines() if options.log.exists() else []
    ended = [one for one in map(json.loads, lines) if "results" in one]
    return [one for one in ended if (one["name"], one["seed"]) == (options.probe, options.seed)]


def _series(options: Options, series: int, broker: LocalKafka, job: Job, console: Console) -> None:
    chance, sent, pause = random.Random(f"{options.seed} {series}"), list[str](), threading.Event()
    names = {name: f"{name}-{series}-{os.getpid()}" for name in ("source", *QUERIES)}
    targets = [names[name] for name in QUERIES]
    ensure_topics(job.servers, [*names.values()], PARTITIONS, {name: {} for name in names.values()})
    (job.folder / "topics.json").write_text(json.dumps(names))

    def write(**line: Any) -> None:
        line = {"name": options.probe, "seed": options.seed, "series": series, **line}
        console.print(line)
        with options.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")

    job.start()
    try:
        with traffic(job.servers, options.rate, sent, names["source"]):
            for number in range(options.kills):
                wait_for_flow(job.servers, *targets)
                step = chance.choice([*STEPS, *[RANDOM] * (len(STEPS) // 2)])
                who = chance.choice(["executor", "driver", "both"]) if job.master else "both"
                pause.wait(chance.random())
                if options.broker:
                    step, who = RANDOM, "broker"
                    _kill_broker(broker)
                else:
                    kill(job, step, who)
                write(kill=number, step=step, who=who, sent=len(sent))
            wait_for_flow(job.servers, *targets)
        for line in _counted(broker, job, names, sent):
            write(**line, **({"kills": options.kills} if "results" in line else {}))
    finally:
        job.close()


def explained(broker: LocalKafka, job: Job, names: dict[str, str], name: str, results: Counter[str]) -> Iterator[Any]:
    """Yield for each wrong result its input offset, the committed batch of this offset, and its copies in the topic."""
    batches = sorted(int(path.name) for path in (job.folder / name / "commits").glob("[0-9]*"))
    logs = {batch: (job.folder / name / f"offsets/{batch}").read_text().splitlines()[-1] for batch in batches}
    ends = {batch: json.loads(offsets)[names["source"]] for batch, offsets in logs.items()}
    written = defaultdict[tuple[str, str], list[dict[str, str]]](list)
    for copy in copies_of(broker, names[name]) if results else ():
        shown = {"place": copy.place, "transaction": copy.transactional_id, "end": copy.end}
        written[copy.key.decode(), copy.value.decode()].append(shown)
    for result in results:
        key, _, value = result.rpartition(" ")
        number = (int(value) - 1) * KEYS + int(key) if key else int(value)
        # `traffic` sends record N to partition N modulo the number of partitions.
        partition, offset = str(number % PARTITIONS), number // PARTITIONS
        batch = next((batch for batch, end in ends.items() if end[partition] > offset), None)
        known = {"batch": batch, "copies": written[str(number % KEYS), value]}
        yield {"query": name, "result": result, "partition": partition, "offset": offset, **known}


def _counted(broker: LocalKafka, job: Job, names: dict[str, str], sent: list[str]) -> Iterator[dict[str, Any]]:
    """Drain the job. Yield a line for each lost or repeated result, and then the line of the series."""
    drained = job.drain(names["source"])
    found = {name: differences(job.servers, name, names[name], sent) for name in QUERIES}
    for name, (missing, more) in found.items():
        yield from explained(broker, job, names, name, missing | more)
    lost, repeated = (sum(map(Counter.total, each)) for each in zip(*found.values(), strict=True))
    yield {"results": len(QUERIES) * len(sent), "lost": lost, "repeated": repeated, **drained}


def _kill_broker(broker: LocalKafka) -> None:
    if broker.child:
        broker.child.kill()
    threading.Event().wait(5 * random.random())
    broker.start()


def kill(job: Job, step: str, who: str = "both") -> None:
    """Kill the job, or only a part of it on a cluster, at a step of the protocol or immediately, and restart it."""
    is_in_executor = not job.master or step not in STEPS or "transactions" in STEPS[step][0]
    for number, pattern in enumerate(STEPS.get(step, ())):
        at_step(pattern, job, restarts=number > 0)
    if step not in STEPS and who != "driver":
        job.kill_executor()
    if who != "executor" or not is_in_executor or step == RECOVERY:
        job.kill()
        job.start()


def at_step(pattern: str, job: Job, *, restarts: bool) -> None:
    """Wait until one of the job's JVMs ends at a step of the protocol, after a restart or in the current run."""
    if restarts:
        job.kill()
    (job.folder / "draft").write_text(pattern)
    order = (job.folder / "draft").rename(job.folder / "order")
    if restarts:
        job.start()
    wait_until(lambda: not order.exists(), WAIT_SECONDS, f"the step {pattern!r}")


def main() -> None:
    """Run the queries until the process is killed. The JSON argument contains servers, folder, master and number."""
    argument = json.loads(sys.argv[1])
    folder, master = Path(argument["folder"]), argument["master"]
    files = {"fs.steps.impl": "kill_steps.StepFiles", "fs.steps.order": str(folder / "order")}
    confs = {f"spark.hadoop.{name}": value for name, value in files.items()} | (job_confs() if master else {})
    confs["spark.sql.streaming.minBatchesToRetain"] = str(MAX_BATCHES)
    confs["spark.jars"] = str(compiled(Path(__file__).with_name("kill_steps.scala")))
    spark = build_session("kills", master=master, slots=8, confs=confs)
    wait_until((folder / f"go-{argument['number']}").exists, LONG_SECONDS, "the signal to start")
    names = json.loads((folder / "topics.json").read_text())
    starters = {name: partial(start, spark, argument["servers"], folder, names, name) for name in QUERIES}
    keep(spark, starters, threading.Event(), PATIENT, commit_every=0.5)


def start(spark: SparkSession, servers: str, folder: Path, names: dict[str, str], name: str) -> StreamingQuery:
    """Start the query `name` at the default interval of five minutes."""
    kafka = {"kafka.bootstrap.servers": servers}
    source = spark.readStream.format(control.SOURCE).options(**kafka, subscribe=names["source"])
    writer = to_kafka(
        QUERIES[name](source.option("startingOffsets", "earliest").load()),
        transactional_prefix=names[name],
        checkpoint=f"steps://{folder / name}",
        topic=names[name],
        options={**kafka, **KAFKA_SINK},
    ).queryName(name)
    query: StreamingQuery = writer.outputMode("update").trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
    return query


if __name__ == "__main__":
    main()
