"""The outcome of a run: its faults, its exit status, and the report."""

import re
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.chaos.faults import Fault
from examples.attribution.audit.reconciliation import Reconciliation
from examples.attribution.audit.run_log import RunLog
from examples.attribution.demo.report import plain_table, print_reconciliation, report_console, verdict

LEGEND = (
    "Seconds from the start of a fault until every source partition had a result in the database for a record "
    "that was sent after the fault and after the last restart that the fault caused. Replayed: records that were "
    "written again."
)
LOST = re.compile(r"^(?:record|result|row|credit|count) \S+ is (?:missing|in neither)")


@dataclass
class Incident:
    """A fault and its effects."""

    fault: Fault
    begun_at: float
    """Time at which the fault began, in epoch seconds."""
    seconds: float | None = None
    """Seconds from the beginning of the fault until results flow again (`LEGEND`), or None without a recovery."""
    replayed: int = 0
    """Number of records that were written again before the next fault."""


@dataclass(frozen=True)
class Outcome:
    """All faults of a run, the reconciliation, and the numbers of sent records and of failed sends."""

    incidents: list[Incident]
    reconciliation: Reconciliation
    log: RunLog
    sent: int
    failed_sends: int
    is_interrupted: bool = False

    @property
    def lost(self) -> int:
        """Return the number of missing results and records."""
        return sum(LOST.match(difference) is not None for difference in self.reconciliation.differences)

    @property
    def wrong(self) -> int:
        """Return the number of all other differences from the replay."""
        return len(self.reconciliation.differences) - self.lost

    @property
    def unhealed(self) -> int:
        """Return the number of faults from which the pipeline did not recover."""
        return sum(incident.seconds is None for incident in self.incidents)

    @property
    def status(self) -> int:
        """Return 0 if no result is lost or wrong, no send failed and the pipeline always recovered, otherwise 1."""
        return int(bool(self.reconciliation.differences or self.unhealed or self.failed_sends))


def print_outcome(outcome: Outcome, seed: int, console: Console | None = None) -> None:
    """Print the counts, the differences, a row for each kind of fault, and a summary."""
    console = console or report_console()
    console.print()
    print_reconciliation(console, outcome.reconciliation, outcome.log)
    console.print(verdict(outcome.reconciliation, outcome.log))
    console.print()
    console.print(_faults(outcome))
    console.print(LEGEND, highlight=False, soft_wrap=True)
    interrupted = ", ended by Ctrl-C" if outcome.is_interrupted else ""
    summary = (
        f"seed {seed}: {len(outcome.incidents)} faults{interrupted}, {outcome.unhealed} without recovery, "
        f"{outcome.sent} records sent, {outcome.failed_sends} not accepted by the broker, "
        f"{outcome.lost} lost, {outcome.wrong} wrong"
    )
    console.print(summary, style="bold red" if outcome.status else "bold green", highlight=False, soft_wrap=True)


def _faults(outcome: Outcome) -> Table:
    """Return a table with a row for each kind of fault."""
    rows = []
    for kind in sorted({incident.fault.kind for incident in outcome.incidents}):
        incidents = [incident for incident in outcome.incidents if incident.fault.kind == kind]
        seconds = [incident.seconds for incident in incidents if incident.seconds is not None]
        slowest = f"{max(seconds):.1f}" if len(seconds) == len(incidents) else "no recovery"
        middle = f"{median(seconds):.1f}" if seconds else "-"
        rows.append((kind, len(incidents), middle, slowest, sum(incident.replayed for incident in incidents)))
    return plain_table(("fault", "times", "median s", "max s", "replayed"), rows)
