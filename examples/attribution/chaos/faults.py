"""Carry out each kind of fault: a fault begins and ends with its block."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import psycopg

from examples.attribution.chaos.parts import disk
from examples.attribution.chaos.parts.programs import Program
from examples.attribution.chaos.parts.system import System
from examples.attribution.chaos.plan import Fault, Kind, Need
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
# With a timeout (ms), `pg_terminate_backend` returns after the process has ended, so its connection slot is free.
TERMINATE_FOLLOWER = (
    b"select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name like 'public.%'"
)
LOCK = threading.Lock()

Ongoing = AbstractContextManager[None]
Begin = Callable[[System, Fault], Ongoing]
KINDS: dict[str, Kind] = {}
"""All kinds of faults by name, in the order of their definitions."""
FAULTS: dict[str, Begin] = {}
"""Functions that begin a fault, by kind."""


def fault(what: str, seconds: tuple[float, float] = (0, 0), needs: Need = "") -> Callable[[Begin], Begin]:
    """Register a function as the kind of fault with its name. The two `seconds` are the limits of the duration."""

    def register(begin: Begin) -> Begin:
        name = begin.__name__.replace("_", "-")
        KINDS[name], FAULTS[name] = Kind(what, *seconds, needs), begin
        return begin

    return register


@contextmanager
def killed_server(server: LocalServer) -> Iterator[None]:
    """Kill a server, and restart it on its data after the block."""
    server.kill()
    try:
        yield
    finally:
        server.start()


@contextmanager
def killed(process: psutil.Process) -> Iterator[None]:
    """Kill one process. Its supervisor, if any, restarts it."""
    process.kill()
    yield


@contextmanager
def killed_programs(*programs: Program) -> Iterator[None]:
    """Kill programs. `Program.poll` restarts them."""
    for program in programs:
        program.kill()
    yield


@contextmanager
def killed_worker(system: System, worker: psutil.Process) -> Iterator[None]:
    """Kill a Spark worker, and restart it with the same command after the block."""
    command, env, folder = worker.cmdline(), worker.environ(), Path(worker.cwd())
    worker.kill()
    yield
    log_path = folder / "Spark-workers-started-again.log"
    system.workers.append(start_child("Spark worker", command, log_path=log_path, env=env))


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
    """Take all connections of the database, also from the follower, while the block runs."""
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


@fault("kill -9 of the broker, which then restarts")
def kill_broker(system: System, _fault: Fault) -> Ongoing:
    return killed_server(system.broker)


@fault("the broker process is suspended (SIGSTOP)", seconds=(3, 10))
def pause_broker(system: System, _fault: Fault) -> Ongoing:
    return paused(family(_pid(system.broker)))


@fault("kill -9 of the broker, which stays down longer than `delivery.timeout.ms`", seconds=(10, 15))
def remove_broker(system: System, _fault: Fault) -> Ongoing:
    return killed_server(system.broker)


@fault("the pipeline's connections to the broker are slow and drop", seconds=(4, 10))
def slow_broker(system: System, fault: Fault) -> Ongoing:
    return slow(system.broker_proxy, fault)


@fault("kill -9 of the database, which then restarts")
def kill_database(system: System, _fault: Fault) -> Ongoing:
    return killed_server(system.database)


@fault("all database processes are suspended", seconds=(3, 10))
def pause_database(system: System, _fault: Fault) -> Ongoing:
    return paused(family(_pid(system.database)))


@fault("the database has no free connections, and closes the pipeline's connections", seconds=(3, 10))
def exhaust_database(system: System, _fault: Fault) -> Ongoing:
    return exhausted(system.database.dsn)


@fault("the pipeline's connections to the database are slow and drop", seconds=(4, 10))
def slow_database(system: System, fault: Fault) -> Ongoing:
    return slow(system.database_proxy, fault)


@fault("kill -9 of the driver and its JVM, which the supervisor restarts")
def kill_driver(system: System, _fault: Fault) -> Ongoing:
    # Kill the standby first, because it would take over.
    return killed_programs(*system.others, system.driver)


@fault("kill -9 of the driver and its JVM; a standby takes over", needs="standby")
def kill_leader(system: System, _fault: Fault) -> Ongoing:
    return killed_programs(system.driver)


@fault("the driver and its JVM are suspended", seconds=(3, 10))
def pause_driver(system: System, _fault: Fault) -> Ongoing:
    return paused(_driver_and_jvm(system))


@fault("kill -9 of only the driver's JVM")
def kill_jvm(system: System, _fault: Fault) -> Ongoing:
    return killed(_jvm(system))


@fault("only the driver's JVM is suspended", seconds=(3, 10))
def pause_jvm(system: System, _fault: Fault) -> Ongoing:
    return paused([_jvm(system)])


@fault("kill -9 of the process that copies results to the database")
def kill_follower(system: System, _fault: Fault) -> Ongoing:
    return killed_programs(system.follower)


@fault("the process that copies results to the database is suspended", seconds=(3, 10))
def pause_follower(system: System, _fault: Fault) -> Ongoing:
    return paused(family(system.follower.pid))


@fault("the disk of the checkpoints is full", seconds=(4, 12), needs="mount")
def fill_disk(system: System, _fault: Fault) -> Ongoing:
    return disk.full(system.checkpoints)


@fault("the device clocks (`event_ts`) jump by up to ten minutes, and back", seconds=(3, 10))
def jump_device_clock(system: System, fault: Fault) -> Ongoing:
    return wrong_clock(system.traffic.clock_errors_ms, "event_ts", _signed(fault.strength) * MAX_DEVICE_ERROR_SECONDS)


@fault("the collector's clock (`server_ts`) jumps, and back", seconds=(3, 10))
def jump_collector_clock(system: System, fault: Fault) -> Ongoing:
    seconds = _collector_error_seconds(system.settings.windows, fault.strength)
    return wrong_clock(system.traffic.clock_errors_ms, "server_ts", seconds)


@fault("kill -9 of one of two executors", needs="cluster")
def kill_executor(_system: System, fault: Fault) -> Ongoing:
    return killed(_one_of_two(EXECUTOR, fault))


@fault("one of two executors is suspended", seconds=(3, 10), needs="cluster")
def pause_executor(_system: System, fault: Fault) -> Ongoing:
    return paused([_one_of_two(EXECUTOR, fault)])


@fault("kill -9 of one of two Spark workers, which then restarts", needs="cluster")
def kill_worker(system: System, fault: Fault) -> Ongoing:
    return killed_worker(system, _one_of_two(WORKER, fault))


@fault("one of two Spark workers is suspended", seconds=(3, 10), needs="cluster")
def pause_worker(_system: System, fault: Fault) -> Ongoing:
    return paused([_one_of_two(WORKER, fault)])
