"""Carry out each kind of fault; a fault begins when its block is entered, and ends with the block."""

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import psycopg

from examples.attribution.chaos.parts import disk
from examples.attribution.chaos.parts.programs import Program
from examples.attribution.chaos.parts.system import System
from examples.attribution.chaos.plan import Fault
from examples.attribution.chaos.processes import EXECUTOR, JVM_OF_DRIVER, WORKER, family, find, paused
from examples.attribution.settings import Windows
from spark_rtm.services.child import start_child
from spark_rtm.services.local_server import LocalServer
from spark_rtm.services.tcp_proxy import TcpProxy, unchanged

MIN_DELAY_SECONDS, MAX_DELAY_SECONDS = 0.05, 0.25
CUT_SHARE = 0.02
"""Probability that a chunk, sent or received, breaks its slow connection."""
MAX_CONNECTIONS = 100
MAX_DEVICE_ERROR_SECONDS = 600
# Shares of the limits into the past and into the future beyond which a record would be rejected. A record can also be
# late for other reasons.
PAST_SHARE, FUTURE_SHARE = 0.6, 0.8
TERMINATE_FOLLOWER = b"select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'public.%'"
LOCK = threading.Lock()

Begin = Callable[[System, Fault], AbstractContextManager[None]]


@contextmanager
def killed_server(server: LocalServer) -> Iterator[None]:
    """Kill a server, and start it again on its data after the block."""
    server.kill()
    try:
        yield
    finally:
        server.start()


@contextmanager
def killed(process: psutil.Process) -> Iterator[None]:
    """Kill one process; its supervisor, if any, starts it again."""
    process.kill()
    yield


@contextmanager
def killed_program(program: Program) -> Iterator[None]:
    """Kill a program; `Program.poll` starts it again."""
    program.kill()
    yield


@contextmanager
def killed_worker(system: System, worker: psutil.Process) -> Iterator[None]:
    """Kill a Spark worker, and start it again with the same command after the block."""
    command, env, folder = worker.cmdline(), worker.environ(), Path(worker.cwd())
    worker.kill()
    yield
    log_path = folder / "Spark-workers-started-again.log"
    system.workers.append(start_child("Spark worker", command, log_path=log_path, env=env))


@contextmanager
def slow(proxy: TcpProxy, fault: Fault) -> Iterator[None]:
    """Delay all data, and break connections."""
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
    """Take all connections of the database, including those of the follower, while the block runs."""
    with ExitStack() as stack:
        admin = stack.enter_context(psycopg.connect(dsn, autocommit=True, application_name="chaos"))
        terminated = 1
        while terminated:
            with suppress(psycopg.OperationalError):
                for _ in range(MAX_CONNECTIONS):
                    stack.enter_context(psycopg.connect(dsn, application_name="chaos"))
            # The server is full. A terminated client connects again after a moment; this loop takes its place before.
            terminated = admin.execute(TERMINATE_FOLLOWER).rowcount
        yield


@contextmanager
def wrong_clock(errors_ms: dict[str, int], field: str, seconds: float) -> Iterator[None]:
    """Put a clock forward, or back for negative seconds, while the block runs."""
    errors_ms[field] = round(seconds * 1000)
    try:
        yield
    finally:
        errors_ms[field] = 0


def _one_of_two(word: str, fault: Fault) -> psutil.Process:
    return find(word, count=2)[fault.strength >= 0.5]


def _jvm(system: System) -> psutil.Process:
    return find(JVM_OF_DRIVER, system.driver.pid)[0]


def _pid(server: LocalServer) -> int:
    if server.child is None:
        raise RuntimeError(f"no server runs in {server.folder}")
    return server.child.pid


def _signed(strength: float) -> float:
    return 2 * strength - 1


def _collector_error_seconds(windows: Windows, strength: float) -> float:
    past_ms, future_ms = -PAST_SHARE * windows.horizon_ms, FUTURE_SHARE * windows.clock_skew_limit_ms
    return (past_ms + strength * (future_ms - past_ms)) / 1000


def _driver_and_jvm(system: System) -> list[psutil.Process]:
    return [psutil.Process(system.driver.pid), _jvm(system)]


FAULTS: Mapping[str, Begin] = {
    "kill-broker": lambda system, _: killed_server(system.broker),
    "pause-broker": lambda system, _: paused(family(_pid(system.broker))),
    "remove-broker": lambda system, _: killed_server(system.broker),
    "slow-broker": lambda system, fault: slow(system.broker_proxy, fault),
    "kill-database": lambda system, _: killed_server(system.database),
    "pause-database": lambda system, _: paused(family(_pid(system.database))),
    "exhaust-database": lambda system, _: exhausted(system.database.dsn),
    "slow-database": lambda system, fault: slow(system.database_proxy, fault),
    "kill-driver": lambda system, _: killed_program(system.driver),
    "pause-driver": lambda system, _: paused(_driver_and_jvm(system)),
    "kill-jvm": lambda system, _: killed(_jvm(system)),
    "pause-jvm": lambda system, _: paused([_jvm(system)]),
    "kill-follower": lambda system, _: killed_program(system.follower),
    "pause-follower": lambda system, _: paused(family(system.follower.pid)),
    "fill-disk": lambda system, _: disk.full(system.checkpoints),
    "jump-device-clock": lambda system, fault: wrong_clock(
        system.traffic.clock_errors_ms, "event_ts", _signed(fault.strength) * MAX_DEVICE_ERROR_SECONDS
    ),
    "jump-collector-clock": lambda system, fault: wrong_clock(
        system.traffic.clock_errors_ms, "server_ts", _collector_error_seconds(system.settings.windows, fault.strength)
    ),
    "kill-executor": lambda _, fault: killed(_one_of_two(EXECUTOR, fault)),
    "pause-executor": lambda _, fault: paused([_one_of_two(EXECUTOR, fault)]),
    "kill-worker": lambda system, fault: killed_worker(system, _one_of_two(WORKER, fault)),
    "pause-worker": lambda _, fault: paused([_one_of_two(WORKER, fault)]),
}
"""How each kind of fault begins."""
