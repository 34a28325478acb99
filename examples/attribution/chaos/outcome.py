"""The outcome of a run: its faults, its differences from the replay, and the exit status."""

import re
from dataclasses import dataclass

from examples.attribution.audit.reconciliation import Reconciliation
from examples.attribution.audit.run_log import RunLog
from examples.attribution.chaos.plan import Fault

LOST = re.compile(r"^(?:record|result|row|credit|count) \S+ is (?:missing|in neither)")


@dataclass
class Incident:
    """A fault and its effects."""

    fault: Fault
    begun_at: float
    """Time at which the fault began, in epoch seconds."""
    seconds: float | None = None
    """
    Seconds from the beginning of the fault until results flow again, or None if the deadline passes before that.

    Results flow when every source partition has a result in the database for a record that was sent after the end of
    the fault and after the last restart that the fault caused.
    """
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
        """Return the number of faults without recovery."""
        return sum(incident.seconds is None for incident in self.incidents)

    @property
    def status(self) -> int:
        """Return 0 if nothing is lost or wrong, no send failed and the pipeline always recovered, otherwise 1."""
        return int(bool(self.reconciliation.differences or self.unhealed or self.failed_sends))
