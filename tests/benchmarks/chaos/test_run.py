"""The pipeline under faults on a cluster: it reconciles, and lost or wrong results and missing recoveries are found."""

import io
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from benchmarks.chaos.faults import KINDS, Fault
from benchmarks.chaos.parts.system import System
from benchmarks.chaos.processes import EXECUTOR, WORKER, find
from benchmarks.chaos.report import Outcome, print_outcome
from benchmarks.chaos.run import ChaosOptions, run
from examples.attribution.audit.reconciliation import reconcile
from examples.attribution.demo.live_view import LiveView
from examples.attribution.pipeline import RULES
from spark_rtm.services.child import free_ports, start_child
from tests.helpers import eventually

pytestmark = [pytest.mark.services, pytest.mark.timeout(1200)]

OPTIONS = ChaosOptions(
    count=3,
    faults="kill-broker,kill-driver,kill-executor",
    cluster=True,
    rate=15,
    # Each commit plans the queries again.
    interval_seconds=20,
    python_interval_seconds=15,
    warm_up_seconds=3,
    time_scale=600,
)
PAUSE_SECONDS = 2
ENDLESS = Fault("pause-database", 600, 0, PAUSE_SECONDS, KINDS["pause-database"].begin)


class InterruptedView(LiveView):
    """A view that sets `stop`, as Ctrl-C does, after the beginning of the last fault."""

    def __init__(self, output: io.StringIO, stop: threading.Event) -> None:
        super().__init__(Console(file=output, width=200))
        self._stop = stop

    def print_line(self, text: str) -> None:
        super().print_line(text)
        if f"fault 5 of 5: {ENDLESS}" in text:
            self._stop.set()


@dataclass(frozen=True)
class Observed:
    """A run that Ctrl-C ended while the database was paused, and its output."""

    outcome: Outcome
    printed: str


@contextmanager
def replaced_worker(system: System, _fault: Fault) -> Iterator[None]:
    """Add a worker like the existing ones, wait until its executor is registered, and decommission another worker."""
    old, *_ = find(WORKER, count=2)
    command, folder = old.cmdline(), Path(old.cwd())
    command[command.index("--webui-port") + 1] = str(free_ports(1)[0])
    worker = start_child("added worker", command, log_path=folder / "added-worker.log", env=old.environ())
    system.cleanup.callback(worker.stop)
    executor = find(EXECUTOR, worker.pid)[0]
    eventually(lambda: is_registered(executor), 120, "the registration of the added executor")
    leaving = find(EXECUTOR, old.pid)[0]
    old.send_signal(signal.SIGPWR)
    eventually(lambda: not leaving.is_running(), 120, "the end of the executor")
    yield


def is_registered(executor: psutil.Process) -> bool:
    return any(connection.status == psutil.CONN_LISTEN for connection in executor.net_connections("tcp"))


@pytest.fixture(scope="module")
def observed() -> Observed:
    """Run three planned faults, the replacement of a worker, and one fault without an end."""
    output, stop = io.StringIO(), threading.Event()
    planned = [Fault(name, 0, 0, PAUSE_SECONDS, KINDS[name].begin) for name in OPTIONS.chosen]
    faults = [*planned, Fault("replace-worker", 0, 0, PAUSE_SECONDS, replaced_worker), ENDLESS]
    outcome = run(OPTIONS, faults, InterruptedView(output, stop), stop, is_mounted=False)
    print_outcome(outcome, OPTIONS.seed, Console(file=output, width=200))
    return Observed(outcome, output.getvalue())


def table_row(printed: str, kind: str) -> list[str]:
    return next(line.split() for line in reversed(printed.splitlines()) if line.split()[:1] == [kind])


@pytest.mark.proves("chaos rounds", 5)
def test_pipeline_reconciles_after_faults_on_a_cluster(observed: Observed) -> None:
    """
    After kill -9 of the driver, the broker and an executor, all results equal the replay.

    Results also flow again without a worker that was decommissioned after another one was added.
    """
    outcome = observed.outcome

    assert [] == outcome.reconciliation.differences, observed.printed
    assert 0 == outcome.status, observed.printed
    assert {*OPTIONS.chosen, "replace-worker"} == {incident.fault.kind for incident in outcome.incidents}
    assert all(incident.seconds for incident in outcome.incidents)
    assert {0} == set(outcome.log.waiting.values())


def test_lost_executor_fails_only_queries_with_a_shuffle(observed: Observed) -> None:
    """Spark repeats the lost tasks of a query that does not shuffle rows."""
    after = observed.printed.partition(": kill-executor\n")[2].partition("results flow again")[0]

    # A query that is between two batches during the kill does not fail, but at least one of the two queries must fail.
    assert re.search(r"query '(events_to_attributed|attributed_to_pacing)' failed with ", after), observed.printed
    assert "query 'kafka_to_events' failed" not in after


def test_live_view_and_table_show_each_fault(observed: Observed) -> None:
    printed = observed.printed

    assert "s the driver has ended\n" in printed
    assert "s the driver restarts\n" in printed
    for number, incident in enumerate(observed.outcome.incidents, start=1):
        kind = incident.fault.kind
        assert f"s fault {number} of 5: {kind}\n" in printed
        assert f"s results flow again {incident.seconds:.1f} s after {kind} began\n" in printed
        assert [kind, "1", *[f"{incident.seconds:.1f}"] * 2, str(incident.replayed)] == table_row(printed, kind)
    assert "seed 1: 4 faults, ended by Ctrl-C, 0 without recovery" in printed
    assert printed.endswith(" 0 lost, 0 wrong\n")


def test_lost_and_wrong_results_fail_the_run(observed: Observed) -> None:
    log = deepcopy(observed.outcome.log)
    lost, wrong, *_ = (result_id for result_id, row in log.results.items() if row["kind"] == "click")
    stored = {row_id: {k: v for k, v in row.items() if v is not None} for row_id, row in log.results.items()}
    del log.results[lost]
    log.results[wrong] = {**log.results[wrong], "campaign_id": "another"}
    goals = [campaign.goal for campaign in observed.outcome.reconciliation.campaigns]

    changed = replace(
        observed.outcome, reconciliation=reconcile(log, OPTIONS.settings(), RULES, goals, stored), log=log
    )

    # The codes of all results do not add up to the number of clicks either.
    assert (1, 1, 2) == (changed.status, changed.lost, changed.wrong)


def test_unhealed_fault_and_failed_send_fail_the_run(observed: Observed) -> None:
    """A run without a recovery has status 1, as does a run whose records the broker rejected."""
    first, *others = observed.outcome.incidents
    unhealed = replace(observed.outcome, incidents=[replace(first, seconds=None), *others])
    output = io.StringIO()

    print_outcome(unhealed, 1, Console(file=output, width=200))

    assert (1, 300) == (unhealed.status, OPTIONS.deadline_seconds)
    assert "no recovery" in next(line for line in output.getvalue().splitlines() if line.startswith(f" {first.fault}"))
    assert 1 == replace(observed.outcome, failed_sends=1).status
