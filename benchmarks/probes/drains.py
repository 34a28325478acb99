"""
Measure how long `rtm stop` takes, and whether it loses or repeats results.

A stateless and a stateful query run under traffic at the default interval of five minutes. In each round, `rtm stop`
drains and stops one query, which then restarts. Afterwards, `kill -9` ends the job in the middle of a stop.
"""

import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from benchmarks.harness.benchmark import BenchmarkOptions, Outcome
from benchmarks.probes.probe import PARTITIONS, Record, outcome_of, produce, written
from benchmarks.spark.engine import start_process
from spark_rtm.commands.control import listen, send
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime import control
from spark_rtm.realtime.queries import KAFKA_SINK, wait_until
from spark_rtm.realtime.warm_up import warm_up_silently
from spark_rtm.services import kafka_broker, run_folder
from spark_rtm.services.child import Child
from spark_rtm.services.cluster import job_confs, standalone_cluster
from spark_rtm.services.spark import build_session

QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "copy": lambda rows: rows.select("key", "value"),
    "counts": lambda rows: rows.groupBy("key").count().selectExpr("key", "cast(count as string) value"),
}
KEYS = 20
FLOW_SECONDS = 180.0
FLOW_RESULTS = 50
PRESETS = {"quick": {"rounds": 4, "kills": 1}}
LONG_SECONDS = 86_400.0
WARM_UP_BATCHES = 5


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options for this benchmark."""

    rounds: int = 50
    """Number of stops that no kill interrupts."""
    kills: int = 10
    """Number of kills during a stop."""
    rate: int = 100
    """Records per second."""
    cluster: bool = False
    """Run the job on a standalone cluster with two executors."""


@dataclass
class Job:
    """The job's process, which can be killed and restarted."""

    servers: str
    folder: Path
    master: str
    child: Child | None = None

    @property
    def socket(self) -> Path:
        """Return the path of the job's control socket."""
        return self.folder / "rtm.sock"

    def start(self) -> None:
        """Start the process."""
        argument = {"servers": self.servers, "folder": self.folder, "master": self.master, "socket": self.socket}
        self.child = start_process("drained job", argument, self.folder / "job.log", "benchmarks.probes.drains")

    def kill(self) -> None:
        """Kill the process and its JVM."""
        if self.child:
            self.child.kill()
            self.socket.unlink(missing_ok=True)

    def obey(self, command: str, query: str) -> float:
        """Send a command for a query, and return the number of seconds until the job answers."""
        started = time.monotonic()
        (answer,) = send(self.socket, command, query, 60)
        if not answer["ok"]:
            raise RuntimeError(f"{command} has failed: {answer['text']}")
        return time.monotonic() - started

    def kill_in_a_stop(self, query: str, seconds: float) -> None:
        """Kill the process `seconds` after the beginning of a stop, and restart it."""
        with ThreadPoolExecutor(1) as threads:
            stopping = threads.submit(self.obey, "stop", query)
            threading.Event().wait(seconds)
            self.kill()
            # The job may have ended its answer before the kill.
            with suppress(OSError):
                stopping.result()
        self.start()


def measure(options: Options, console: Console) -> Outcome:
    """
    Return how long the stops took.

    Lost results, and results repeated before the first kill, are reported as problems.
    """
    pauses, sent, seconds, pause = random.Random(1), list[str](), list[float](), threading.Event()
    with ExitStack() as stack:
        servers = stack.enter_context(kafka_broker())
        ensure_topics(servers, ["source", *QUERIES], PARTITIONS)
        folder = Path(stack.enter_context(TemporaryDirectory(dir=run_folder())))
        job = Job(servers, folder, stack.enter_context(standalone_cluster()) if options.cluster else "")
        job.start()
        stack.callback(job.kill)
        with traffic(servers, options.rate, sent):
            # A query that has run for one interval has committed a batch with rows before it is stopped.
            for name in QUERIES:
                wait_for_flow(servers, name)
                console.print(f"the first commit of {name} took {job.obey('commit', name):.2f} s")
            for number, name in enumerate(islice(cycle(QUERIES), options.rounds), start=1):
                wait_for_flow(servers, name)
                pause.wait(pauses.random())
                seconds.append(job.obey("stop", name))
                console.print(f"{number} of {options.rounds}: {name} stopped in {seconds[-1]:.2f} s")
        by_stops = [differences(servers, name, name, sent) for name in QUERIES]
        with traffic(servers, options.rate, sent):
            for number, name in enumerate(islice(cycle(QUERIES), options.kills), start=1):
                wait_for_flow(servers, name)
                job.kill_in_a_stop(name, pauses.random() / 2)
                console.print(f"{number} of {options.kills}: the job was killed while {name} was stopping")
            wait_for_flow(servers, [*QUERIES][-1])
        in_all = [differences(servers, name, name, sent) for name in QUERIES]
    stops_ms = [round(1_000 * value) for value in seconds]
    lost, repeated_in_all = (sum(map(Counter.total, each)) for each in zip(*in_all, strict=True))
    repeated = sum(more.total() for _, more in by_stops)
    problems = [f"{lost} results were lost"] if lost else []
    problems += [f"{repeated} results were repeated by a stop"] if repeated else []
    found = {"kills": options.kills, "lost": lost, "repeated_by_stops": repeated}
    found |= {"repeated_by_kills": repeated_in_all - repeated, "results": len(QUERIES) * len(sent)}
    return outcome_of(
        console, "drains-on-a-cluster" if options.cluster else "drains", stops_ms, options.rounds, problems, **found
    )


@contextmanager
def traffic(servers: str, rate: int, sent: list[str], topic: str = "source") -> Iterator[None]:
    """Send records while the block runs, and append their values, which are consecutive numbers, to `sent`."""
    ended = threading.Event()

    def records() -> Iterator[Record]:
        while not ended.wait(1 / rate):
            number = len(sent)
            sent.append(str(number))
            yield topic, str(number), str(number % KEYS), number % PARTITIONS

    with ThreadPoolExecutor(1) as threads:
        sending = threads.submit(produce, servers, records())
        try:
            yield
        finally:
            ended.set()
    sending.result()


def wait_for_flow(servers: str, *topics: str) -> None:
    """Wait until results arrive in each topic."""
    ends = {topic: written(servers, topic) + FLOW_RESULTS for topic in topics}
    for topic, end in ends.items():
        wait_until(lambda topic=topic, end=end: written(servers, topic) > end, FLOW_SECONDS, f"results in {topic!r}")  # type: ignore[misc]


def differences(servers: str, name: str, topic: str, sent: list[str]) -> tuple[Counter[str], Counter[str]]:
    """Return the missing and the repeated results of the query `name` for readers of committed records."""
    expected = Counter(sent)
    if name == "counts":
        expected = Counter(f"{number % KEYS} {number // KEYS + 1}" for number in range(len(sent)))

    def results() -> Counter[str]:
        pairs = ((message.key() or b"", message.value() or b"") for message in read_topic(servers, topic))
        return Counter((b"%b %b" % pair if name == "counts" else pair[1]).decode() for pair in pairs)

    # Until the query has processed the last record, results are missing.
    with suppress(TimeoutError):
        wait_until(lambda: not expected - results(), FLOW_SECONDS / 4, "the last results")
    found = results()
    return expected - found, found - expected


def main() -> None:
    """Run the queries until the process is killed. The JSON argument contains servers, folder, master and socket."""
    argument = json.loads(sys.argv[1])
    servers, folder, master = argument["servers"], Path(argument["folder"]), argument["master"]
    spark = build_session("drains", master=master, slots=8, confs=job_confs() if master else {})

    def starters(checkpoints: Path) -> dict[str, Callable[[], StreamingQuery]]:
        return {name: partial(start, spark, servers, checkpoints, name) for name in QUERIES}

    # In a new JVM, the first batch boundaries of a query take seconds.
    warm_up_silently(spark, starters, folder, batches=WARM_UP_BATCHES)
    queries = {name: starter() for name, starter in starters(folder).items()}

    def restart_stopped() -> bool:
        for name, query in queries.items():
            if not query.isActive:
                query.awaitTermination()  # the session releases the name shortly after the query has ended
                queries[name] = start(spark, servers, folder, name)
        return False

    with listen(spark, Path(argument["socket"])):
        wait_until(restart_stopped, LONG_SECONDS, "the end of the benchmark")


def start(spark: SparkSession, servers: str, folder: Path, name: str) -> StreamingQuery:
    """Start the query `name` from the topic `source` to the topic `name`, at the default interval of five minutes."""
    kafka = {"kafka.bootstrap.servers": servers}
    source = spark.readStream.format(control.SOURCE).options(**kafka, subscribe="source", startingOffsets="earliest")
    writer = QUERIES[name](source.load()).writeStream.format("kafka").options(**kafka, **KAFKA_SINK, topic=name)
    writer = writer.option("checkpointLocation", str(folder / name)).queryName(name).outputMode("update")
    query: StreamingQuery = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
    return query


if __name__ == "__main__":
    main()
