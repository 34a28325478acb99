"""Start the servers and programs of a run, and the proxies that slow connections."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from psycopg.conninfo import make_conninfo

from benchmarks.chaos.parts import disk
from benchmarks.chaos.parts.programs import RESTART_PAUSE_SECONDS, STANDBY_PAUSE_SECONDS, Program
from examples.attribution.pipeline import pipeline_queries
from examples.attribution.settings import Settings
from examples.attribution.topics import create_topics
from examples.attribution.traffic.generator import TrafficGenerator
from spark_rtm.services.child import free_ports, running
from spark_rtm.services.cluster import standalone_cluster
from spark_rtm.services.folders import new_folder
from spark_rtm.services.kafka import LocalKafka
from spark_rtm.services.postgres import LocalPostgres
from spark_rtm.services.tcp_proxy import TcpProxy

HOST = "127.0.0.1"
CHECKOUT = Path(__file__).parents[3]
PARTS = "benchmarks.chaos.parts"


@dataclass(frozen=True)
class System:
    """
    All servers, programs and proxies of a run.

    The programs connect through the proxies, and the audit connects directly.
    """

    settings: Settings
    broker: LocalKafka
    database: LocalPostgres
    broker_proxy: TcpProxy
    database_proxy: TcpProxy
    drivers: tuple[Program, ...]
    """The driver and, if the run has one, its standby."""
    follower: Program
    traffic: TrafficGenerator
    cleanup: ExitStack
    """Functions to call at the end of the run."""

    @property
    def driver(self) -> Program:
        """Return the driver that is running the queries or was the last one to run them."""
        return max(self.drivers, key=lambda program: program.led_at)

    @property
    def others(self) -> list[Program]:
        """Return the drivers other than the current one: the standby, if there is one."""
        return [program for program in self.drivers if program is not self.driver]

    @property
    def checkpoints(self) -> Path:
        """Return the folder that contains the checkpoints."""
        return Path(self.settings.checkpoint_dir)

    def have_all_committed(self) -> bool:
        """Return whether every query has committed a batch."""
        return all(
            (self.checkpoints / query.name / "commits" / "0").exists() for query in pipeline_queries(self.settings)
        )

    def poll(self) -> None:
        """Restart programs that have exited, and report the keeper's decisions."""
        leader, others = self.driver, self.others
        leader.poll(STANDBY_PAUSE_SECONDS if any(other.is_running() for other in others) else RESTART_PAUSE_SECONDS)
        for other in others:
            other.poll(STANDBY_PAUSE_SECONDS)
        self.follower.poll()

    def has_ready_standby(self) -> bool:
        """Start the standby if necessary, and return whether it can take over. Without a standby, return True."""
        for other in self.others:
            if other.child is None:
                other.start()
        return all(other.is_ready and other.is_running() for other in self.others)

    def stop_programs(self) -> None:
        """Stop the standby, then the driver, and then the follower."""
        for program in (*self.others, self.driver, self.follower):
            program.stop()

    @property
    def changed_at(self) -> float:
        """Return when the driver or the follower last started, ended or reported a decision, in epoch seconds."""
        return max(self.driver.changed_at, self.follower.changed_at)


@contextmanager
def running_system(
    settings: Settings,
    traffic: TrafficGenerator,
    report: Callable[[str], None],
    *,
    on_cluster: bool = False,
    is_mounted: bool = False,
    has_standby: bool = False,
) -> Iterator[System]:
    """Start all parts, the driver last, and stop them after the block. `fill-disk` needs `is_mounted`."""
    with ExitStack() as stack:
        report("starting Kafka and PostgreSQL")
        broker, broker_proxy = _broker(stack)
        database = stack.enter_context(running(LocalPostgres()))
        database_proxy = stack.enter_context(TcpProxy((HOST, database.port)))
        create_topics(broker.bootstrap_servers, settings.topic_prefix, settings.partitions)
        checkpoints = new_folder("checkpoints")
        if is_mounted:
            stack.enter_context(disk.mounted(checkpoints))
        settings = replace(settings, checkpoint_dir=str(checkpoints))
        if on_cluster:
            report("starting a standalone Spark cluster")
            settings = replace(settings, master=stack.enter_context(standalone_cluster(2, -(-settings.slots // 2))))
        env = {
            **os.environ,
            # On a cluster, the path already contains packages (`standalone_cluster`).
            "PYTHONPATH": os.pathsep.join(filter(None, [str(CHECKOUT), os.environ.get("PYTHONPATH")])),
            "KAFKA_BOOTSTRAP_SERVERS": f"{HOST}:{broker_proxy.port}",
            "POSTGRES_DSN": make_conninfo(database.dsn, port=database_proxy.port),
        }
        folder = new_folder("programs")

        def program(name: str, module: str, *arguments: str) -> Program:
            command = [sys.executable, "-m", f"{PARTS}.{module}", json.dumps(asdict(settings)), *arguments]
            return Program(name, command, folder / f"{name}.log", env, report)

        lock = (str(checkpoints / "driver.lock"),) if has_standby else ()
        drivers = tuple(program(name, "driver", *lock) for name in ("driver", "standby")[: 1 + has_standby])
        follower = program("follower", "follower")
        for each in (follower, *drivers):
            stack.callback(each.stop)
        follower.start()
        drivers[0].start()
        yield System(settings, broker, database, broker_proxy, database_proxy, drivers, follower, traffic, stack)


def _broker(stack: ExitStack) -> tuple[LocalKafka, TcpProxy]:
    """Start a broker whose second listener is advertised with the address of a proxy."""
    port, controller, proxied = free_ports(3)
    proxy = stack.enter_context(TcpProxy((HOST, proxied)))
    listeners = {
        "listeners": f"PLAINTEXT://{HOST}:{port},PROXIED://{HOST}:{proxied},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port},PROXIED://{HOST}:{proxy.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
    }
    return stack.enter_context(running(LocalKafka(ports=[port, controller], properties=listeners))), proxy
