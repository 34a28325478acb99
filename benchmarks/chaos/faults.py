"""Define the kinds of faults, and generate a plan of faults from a seed. Each fault lasts for a `with` block."""

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil
import psycopg

from benchmarks.chaos.parts import disk
from benchmarks.chaos.parts.programs import Program
from benchmarks.chaos.parts.system import System
from benchmarks.chaos.processes import EXECUTOR, JVM_OF_DRIVER, WORKER, family, find, paused
from spark_rtm.services.child import LocalServer, start_child
from spark_rtm.services.tcp_proxy import TcpProxy, unchanged

Need = Literal["", "cluster", "mount", "standby"]
Begin = Callable[[System, "Fault"], AbstractContextManager[None]]
"""Begins a fault. The fault ends when the returned context manager exits."""
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 3.0, 8.0
MIN_DELAY_SECONDS, MAX_DELAY_SECONDS = 0.05, 0.25
CUT_SHARE = 0.02
"""Probability that a slow connection is closed when a chunk of data is sent or received."""
MAX_CONNECTIONS = 100
MAX_DEVICE_ERROR_SECONDS = 600
PAUSE_SECONDS, SLOW_SECONDS = (3, 10), (4, 10)
"""Minimum and maximum seconds for which a process is suspended, and for which connections are slow."""
# Clock jumps are at most these shares of the limits beyond which records are rejected, because records can also be late
# for other reasons.
PAST_SHARE, FUTURE_SHARE = 0.6, 0.8
# With a timeout (ms), `pg_terminate_backend` returns after the process has ended, so its connection slot is free.
TERMINATE_FOLLOWER = (
    b"select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name like 'public.%'"
)
LOCK = threading.Lock()


@dataclass(frozen=True)
class Fault:
    """A planned fault, which begins when the run has recovered from the previous fault and has no backlog."""

    kind: str
    seconds: float
    """Duration in seconds, or 0 if the fault kills a process."""
    strength: float
    """A random number from 0 to 1. Depending on the kind, it determines the delay, the clock jump or the target."""
    pause_seconds: float
    """Wait in seconds after the recovery. A restart during this wait means that the recovery was not complete."""
    begin: Begin = field(repr=False)

    def __str__(self) -> str:
        return f"{self.kind} for {self.seconds:g} s" if self.seconds else self.kind


@dataclass(frozen=True)
class Kind:
    """A kind of fault: what happens, how it begins, its minimum and maximum duration (s), and what it needs."""

    what: str
    begin: Begin
    min_seconds: float = 0
    max_seconds: float = 0
    needs: Need = ""


@contextmanager
def killed_server(server: LocalServer) -> Iterator[None]:
    """Kill a server, and restart it with the same data after the block."""
    server.kill()
    try:
        yield
    finally:
        server.start()


@contextmanager
def killed(*targets: psutil.Process | Program) -> Iterator[None]:
    """Kill processes or programs. Their supervisors restart them. The supervisor of a program is `Program.poll`."""
    for target in targets:
        target.kill()
    yield


@contextmanager
def killed_worker(system: System, worker: psutil.Process) -> Iterator[None]:
    """Kill a Spark worker, and restart it with the same command after the block."""
    command, env, folder = worker.cmdline(), worker.environ(), Path(worker.cwd())
    worker.kill()
    yield
    log_path = folder / "Spark-workers-started-again.log"
    system.cleanup.callback(start_child("Spark worker", command, log_path=log_path, env=env).stop)


@contextmanager
def slow(proxy: TcpProxy, fault: Fault) -> Iterator[None]:
    """Delay all data that passes a proxy, and break some connections."""
    choice = random.Random(fault.strength)

    def pass_or_cut(chunk: bytes) -> bytes | None:
        with LOCK:
            return None if choice.random() < CUT_SHARE else chunk

    proxy.delay_seconds = MIN_DELAY_SECONDS + fault.strength * (MAX_DELAY_SECONDS - MIN_DELAY_SECONDS)
    proxy.answer = proxy.request = pass_or_cut
    try:
        yield
    finally:
        proxy.answer = proxy.request = unchanged
        proxy.delay_seconds = 0


@contextmanager
def exhausted(dsn: str) -> Iterator[None]:
    """Occupy every database connection during the block, including those of the process that copies results."""
    with ExitStack() as stack:
        admin = stack.enter_context(psycopg.connect(dsn, autocommit=True, application_name="chaos"))
        terminated = 1
        while terminated:
            with suppress(psycopg.OperationalError):
                for _ in range(MAX_CONNECTIONS):
                    stack.enter_context(psycopg.connect(dsn, application_name="chaos"))
            # The server is full. A terminated client reconnects after a moment, so this loop takes its slot first.
            terminated = admin.execute(TERMINATE_FOLLOWER).rowcount
        yield


@contextmanager
def wrong_clock(errors_ms: dict[str, int], field: str, seconds: float) -> Iterator[None]:
    """Set a clock forward by `seconds`, or back if the number is negative, while the block runs."""
    errors_ms[field] = round(seconds * 1000)
    try:
        yield
    finally:
        errors_ms[field] = 0


def _one_of_two(word: str, fault: Fault) -> psutil.Process:
    return find(word, count=2)[fault.strength >= 0.5]


def _jvm(system: System) -> psutil.Process:
    return find(JVM_OF_DRIVER, system.driver.pid)[0]


def _server(server: LocalServer) -> list[psutil.Process]:
    if server.child is None:
        raise RuntimeError(f"no server runs in {server.folder}")
    return family(server.child.pid)


def _jump_of_devices(system: System, fault: Fault) -> AbstractContextManager[None]:
    seconds = (2 * fault.strength - 1) * MAX_DEVICE_ERROR_SECONDS
    return wrong_clock(system.traffic.clock_errors_ms, "event_ts", seconds)


def _jump_of_collector(system: System, fault: Fault) -> AbstractContextManager[None]:
    windows = system.settings.windows
    past_ms, future_ms = -PAST_SHARE * windows.horizon_ms, FUTURE_SHARE * windows.clock_skew_limit_ms
    seconds = (past_ms + fault.strength * (future_ms - past_ms)) / 1000
    return wrong_clock(system.traffic.clock_errors_ms, "server_ts", seconds)


KINDS: dict[str, Kind] = {
    "kill-broker": Kind("kill -9 ends the broker, which then restarts", lambda s, _: killed_server(s.broker)),
    "pause-broker": Kind(
        "the broker process is suspended (SIGSTOP)", lambda s, _: paused(_server(s.broker)), *PAUSE_SECONDS
    ),
    "remove-broker": Kind(
        "kill -9 ends the broker, which stays down longer than `delivery.timeout.ms`",
        lambda s, _: killed_server(s.broker),
        min_seconds=10,
        max_seconds=15,
    ),
    "slow-broker": Kind(
        "the pipeline's connections to the broker are slow and break",
        lambda s, fault: slow(s.broker_proxy, fault),
        *SLOW_SECONDS,
    ),
    "kill-database": Kind("kill -9 ends the database, which then restarts", lambda s, _: killed_server(s.database)),
    "pause-database": Kind(
        "all database processes are suspended", lambda s, _: paused(_server(s.database)), *PAUSE_SECONDS
    ),
    "exhaust-database": Kind(
        "the database has no free connections, and closes the pipeline's connections",
        lambda s, _: exhausted(s.database.dsn),
        *PAUSE_SECONDS,
    ),
    "slow-database": Kind(
        "the pipeline's connections to the database are slow and break",
        lambda s, fault: slow(s.database_proxy, fault),
        *SLOW_SECONDS,
    ),
    "kill-driver": Kind(
        "kill -9 ends the driver and its JVM, which the supervisor restarts",
        # Kill the standby first, because it would take over.
        lambda s, _: killed(*s.others, s.driver),
    ),
    "kill-leader": Kind(
        "kill -9 ends the driver and its JVM; a standby takes over",
        lambda s, _: killed(s.driver),
        needs="standby",
    ),
    "pause-driver": Kind(
        "the driver and its JVM are suspended",
        lambda s, _: paused([psutil.Process(s.driver.pid), _jvm(s)]),
        *PAUSE_SECONDS,
    ),
    "kill-jvm": Kind("kill -9 ends only the driver's JVM", lambda s, _: killed(_jvm(s))),
    "pause-jvm": Kind("only the driver's JVM is suspended", lambda s, _: paused([_jvm(s)]), *PAUSE_SECONDS),
    "kill-follower": Kind(
        "kill -9 ends the process that copies results to the database", lambda s, _: killed(s.follower)
    ),
    "pause-follower": Kind(
        "the process that copies results to the database is suspended",
        lambda s, _: paused(family(s.follower.pid)),
        *PAUSE_SECONDS,
    ),
    "fill-disk": Kind("the disk of the checkpoints is full", lambda s, _: disk.full(s.checkpoints), 4, 12, "mount"),
    "jump-device-clock": Kind(
        "the device clocks (`event_ts`) jump by up to ten minutes, and back", _jump_of_devices, *PAUSE_SECONDS
    ),
    "jump-collector-clock": Kind(
        "the collector's clock (`server_ts`) jumps, and back", _jump_of_collector, *PAUSE_SECONDS
    ),
    "kill-executor": Kind(
        "kill -9 ends one of two executors", lambda _, fault: killed(_one_of_two(EXECUTOR, fault)), needs="cluster"
    ),
    "pause-executor": Kind(
        "one of two executors is suspended",
        lambda _, fault: paused([_one_of_two(EXECUTOR, fault)]),
        *PAUSE_SECONDS,
        needs="cluster",
    ),
    "kill-worker": Kind(
        "kill -9 ends one of two Spark workers, which then restarts",
        lambda s, fault: killed_worker(s, _one_of_two(WORKER, fault)),
        needs="cluster",
    ),
    "pause-worker": Kind(
        "one of two Spark workers is suspended",
        lambda _, fault: paused([_one_of_two(WORKER, fault)]),
        *PAUSE_SECONDS,
        needs="cluster",
    ),
}
"""All kinds of faults, by name."""


def plan(seed: int, count: int, kinds: Mapping[str, Kind]) -> list[Fault]:
    """Choose `count` faults at random. Every kind occurs once before any kind occurs again."""
    choice, faults, names = random.Random(seed), list[Fault](), list[str]()
    for _ in range(count):
        if not names:
            names = sorted(kinds)
            choice.shuffle(names)
        kind = kinds[name := names.pop()]
        faults.append(
            Fault(
                name,
                round(choice.uniform(kind.min_seconds, kind.max_seconds), 1),
                round(choice.random(), 3),
                round(choice.uniform(MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS), 1),
                kind.begin,
            )
        )
    return faults
