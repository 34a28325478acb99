"""Carry out a plan of faults while traffic flows, wait for the last results, and reconcile them."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import islice

import psycopg
from confluent_kafka import KafkaException
from rich.markup import escape

from benchmarks.chaos.faults import KINDS, Fault
from benchmarks.chaos.parts.system import System, running_system
from benchmarks.chaos.report import Incident, Outcome
from examples.attribution.attributed_table import SCHEMA, results_table, stored_results
from examples.attribution.audit.reconciliation import reconcile
from examples.attribution.audit.run_log_reader import RunLogReader
from examples.attribution.demo.live_view import LiveView
from examples.attribution.demo.run import POLL_SECONDS, is_past, poll_until_settled
from examples.attribution.pacing.goals import campaign_goals
from examples.attribution.pacing.throttle import DeliveryThrottle, delivery_throttle
from examples.attribution.pipeline import RULES, micro_batch_with_python, pipeline_queries
from examples.attribution.settings import DemoSettings, Settings
from examples.attribution.topics import SOURCE_TOPICS, TOPICS
from examples.attribution.traffic.generator import TrafficGenerator
from examples.attribution.traffic.producer import SendLog, sending
from spark_rtm.realtime.positions import committed_position
from spark_rtm.realtime.queries import wait_until

START_SECONDS = 600.0
MAX_NEWEST = 2_000
"""Number of newest results that are searched for records sent after a fault."""
CONNECT_SECONDS = 2
SECONDS_PER_FAULT = 30
"""Planned seconds per fault, including the recovery and the pause after it."""


@dataclass(frozen=True)
class ChaosOptions(DemoSettings):
    """The pipeline's settings and the options specific to runs under faults."""

    duration: float = 300
    """Planned seconds of the run, with a fault every 30 s. The run ends after the last recovery."""
    rate: float = 60
    """Records per second, summed over all source topics."""
    warm_up_seconds: float = 10
    """Seconds of traffic at an increasing rate."""
    interval_seconds: int = 10
    """Seconds between two commits in real-time mode. A restart repeats at most the output of one interval."""
    watermark_slack_ms: int = 600_000
    """
    Maximum time (ms) by which the query may read one partition ahead of another before rows of the other count as late.

    The time scale does not change this time.
    """
    drain_seconds: float = 180
    """Number of seconds without progress after which the run no longer waits for the last results."""
    seed: int = 1
    """Seed of the traffic and of the plan of faults. The same seed and options always produce the same plan."""
    count: int = 0
    """Number of faults. 0 means one fault for every 30 s of the duration."""
    faults: str = ""
    """Kinds of faults, separated by commas, for example kill-broker,pause-database. The default is all kinds."""
    cluster: bool = False
    """Start a standalone Spark cluster with two workers. Faults also affect the workers and their executors."""
    standby: bool = False
    """Start a second driver, which takes over when the first driver ends."""
    deadline_seconds: float = 300
    """Seconds after the end of a fault within which results must flow again. If not, the run ends with status 1."""
    publish: bool = False
    """Add the run to references/measured/chaos.json. A run with the same command is replaced."""

    def __post_init__(self) -> None:
        """Raise ValueError if a setting is invalid, or if a chosen kind of fault is unknown or needs another option."""
        super().__post_init__()
        wrong = sorted(set(self.chosen) - KINDS.keys())
        if wrong:
            raise ValueError(f"unknown faults: {', '.join(map(repr, wrong))}; choose from {', '.join(sorted(KINDS))}")
        for option in ("cluster", "standby"):
            missing = [] if getattr(self, option) else sorted(n for n in self.chosen if KINDS[n].needs == option)
            if missing:
                raise ValueError(f"these faults require --{option}: {', '.join(map(repr, missing))}")
        if self.cluster and self.standby:
            raise ValueError("a standby requires its own task slots, which the cluster does not have; omit --cluster")
        if self.count < 0 or self.duration <= 0:
            raise ValueError(f"count is {self.count} and duration is {self.duration:g}; both must be positive")

    @property
    def chosen(self) -> list[str]:
        """Return the kinds of fault that the user chose."""
        return [name for name in self.faults.replace(" ", "").split(",") if name]

    @property
    def planned(self) -> int:
        """Return the number of planned faults."""
        return self.count or max(round(self.duration / SECONDS_PER_FAULT), 1)

    def settings(self) -> Settings:
        """Return the pipeline's settings for the driver and the follower."""
        names = {field.name for field in fields(Settings)}
        return Settings(**{name: value for name, value in asdict(self).items() if name in names})


@dataclass
class ChaosRun:
    """A run in progress. Ctrl-C calls `stop`."""

    options: ChaosOptions
    system: System
    reader: RunLogReader
    throttle: DeliveryThrottle
    view: LiveView
    report: Callable[[str], None]
    stop: threading.Event
    incidents: list[Incident] = field(default_factory=list)

    def poll(self, *, is_draining: bool = False) -> None:
        """Read new records, restart programs that have exited, and update the view."""
        self.reader.poll(POLL_SECONDS)
        self.system.poll()
        self.throttle.raise_if_failed()
        self.view.update(self.reader.log, is_draining=is_draining)

    def wait(self, poll: Callable[[], None], is_true: Callable[[], bool], what: str) -> None:
        """Call `poll` until `is_true` returns True or Ctrl-C ends the run."""

        def is_over() -> bool:
            poll()
            return is_true() or self.stop.is_set()

        wait_until(is_over, START_SECONDS, what)

    def carry_out(self, faults: Sequence[Fault]) -> None:
        """Wait for the first results, and carry out the faults one by one. Stop after a fault without recovery."""
        flowed_at = self.wait_for_flow(time.time(), self.options.warm_up_seconds, START_SECONDS)
        if flowed_at is None and not self.stop.is_set():
            raise TimeoutError(f"timed out after {START_SECONDS:g} s waiting for results, so no fault was injected")
        for number, fault in enumerate(faults, start=1):
            if self.stop.is_set():
                return
            self.wait(self.poll, self.system.has_ready_standby, "the standby")
            self.report(f"fault {number} of {len(faults)}: {fault}")
            incident = self._carry_out(fault)
            if self.stop.is_set() and incident.seconds is None:
                # The pipeline might have recovered without the interrupt.
                self.incidents.remove(incident)
            if incident.seconds is None:
                return

    def wait_for_flow(self, since: float, pause_seconds: float, max_seconds: float) -> float | None:
        """
        Wait until results flow and no program or query has restarted for `pause_seconds`.

        Return the time of the recovery in epoch seconds, or None if `max_seconds` pass or Ctrl-C ends the run.
        """
        deadline = time.monotonic() + max_seconds
        while not self.stop.is_set() and time.monotonic() < deadline:
            self.poll()
            if self.flows_since(since := max(since, self.system.changed_at)):
                flowed_at = time.time()
                self._poll_for(pause_seconds)
                if self.system.changed_at <= since:
                    return flowed_at
        return None

    def flows_since(self, seconds: float) -> bool:
        """Return whether each source partition has a stored result for a record sent after `seconds` (epoch time)."""
        log, settings, found = self.reader.log, self.system.settings, dict[str, str]()
        for src in islice(reversed(log.first_result_at), MAX_NEWEST):
            source = log.sources.get(src)
            if source and source.t0 > seconds * 1000:
                found.setdefault(src.rpartition(":")[0], src)
        if len(found) < len(SOURCE_TOPICS) * settings.partitions:
            return False
        query = f"select count(distinct src) from {SCHEMA}.{results_table(settings)} where src = any(%s)"
        try:
            with psycopg.connect(self.system.database.dsn, connect_timeout=CONNECT_SECONDS) as connection:
                return connection.execute(query.encode(), [list(found.values())]).fetchone() == (len(found),)
        except psycopg.OperationalError:
            return False

    def is_settled(self) -> bool:
        """Return whether every result is final and the micro-batch queries have read all input."""
        try:
            if not self.reader.is_settled():
                return False
            ends = self.reader.ends()
            settings = self.system.settings
            names = micro_batch_with_python(pipeline_queries(settings), settings)
            positions = [committed_position(self.system.checkpoints / name) for name in names]
            return all(is_past(source, ends) for position in positions for source in position.sources)
        except (KafkaException, ValueError):
            # The broker does not respond, or a checkpoint has no position yet.
            return False

    def _carry_out(self, fault: Fault) -> Incident:
        incident = Incident(fault, time.time())
        self.incidents.append(incident)
        before = self.reader.log.duplicates.total()
        with fault.begin(self.system, fault):
            self._poll_for(fault.seconds)
        if fault.seconds:
            self.report(f"end of {fault.kind}")
        flowed_at = self.wait_for_flow(time.time(), fault.pause_seconds, self.options.deadline_seconds)
        if flowed_at is not None:
            incident.seconds = round(flowed_at - incident.begun_at, 1)
            self.report(f"results flow again {incident.seconds:.1f} s after {fault.kind} began")
            # A backlog would count as the effect of the next fault.
            self.wait_for_flow(time.time(), 0, self.options.deadline_seconds)
        elif not self.stop.is_set():
            self.report(f"no results within {self.options.deadline_seconds:g} s after the end of {fault.kind}")
        incident.replayed = self.reader.log.duplicates.total() - before
        return incident

    def _poll_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.stop.is_set():
            self.poll()


def run(
    options: ChaosOptions, faults: Sequence[Fault], view: LiveView, stop: threading.Event, *, is_mounted: bool
) -> Outcome:
    """Run the pipeline under the planned faults, and return their outcome."""
    sent = SendLog(started_at=time.time())
    traffic = TrafficGenerator(options, options.windows, f"{int(sent.started_at):x}", sent.started_at)

    def report(text: str) -> None:
        view.print_line(escape(f"{time.time() - sent.started_at:5.0f} s {text}"))

    with ExitStack() as stack:
        parts = {"on_cluster": options.cluster, "is_mounted": is_mounted, "has_standby": options.standby}
        system = stack.enter_context(running_system(options.settings(), traffic, report, **parts))
        settings, servers = system.settings, system.broker.bootstrap_servers
        # The audit connects directly to the broker, and not through the proxy.
        reader = RunLogReader(servers, settings, dict.fromkeys(TOPICS, settings.partitions))
        stack.callback(reader.close)
        goals = campaign_goals(traffic)
        throttle = stack.enter_context(delivery_throttle(servers, settings, settings.partitions, goals))
        traffic.is_open = throttle.is_open
        chaos = ChaosRun(options, system, reader, throttle, view, report, stop)
        report("starting the queries")
        # A backlog would delay the first recovery.
        first_batches = f"the first batch of every query ({system.driver.log_path})"
        chaos.wait(system.poll, system.have_all_committed, first_batches)
        sent.started_at = traffic.started_at = time.time()
        title = f"{len(faults)} faults hit the pipeline at {options.rate:g} records/s, then each result is checked"
        view.start_run(sent, replace(settings, warm_up_seconds=0, duration=0), throttle, title)
        end_of_traffic = threading.Event()
        with sending(servers, settings, traffic.records(), sent, end_of_traffic):
            chaos.carry_out(faults)
            end_of_traffic.set()
        is_interrupted = stop.is_set()
        poll_until_settled(
            lambda: chaos.poll(is_draining=True), chaos.is_settled, reader.log.outstanding, options.drain_seconds
        )
        system.stop_programs()
        stored = stored_results(system.database.dsn, settings)
    reconciliation = reconcile(reader.log, settings, RULES, goals, stored)
    return Outcome(chaos.incidents, reconciliation, reader.log, sent.records, sent.failed, is_interrupted)
