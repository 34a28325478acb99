"""The outcome of a run: its faults, the resulting differences, and the verdict."""

import re
from dataclasses import dataclass
from statistics import median

from examples.attribution.audit.reconciliation import Reconciliation
from examples.attribution.audit.run_log import RunLog
from examples.attribution.chaos.plan import Fault

IDENTITY = re.compile(r"^(record|result|row|credit) (\S+)")
# The transaction in the id of a result, and the order in the id of a credit.
NAME_IN_ID = {"result": 0, "row": 0, "credit": 2}
LOST = re.compile(r"^(?:record|result|row|credit|count) \S+ is (?:missing|in neither)")
OUTSIDE = "(no fault)"
"""Row of differences without a fault, for example from records before the first fault."""


@dataclass
class Incident:
    """A fault and its effects."""

    fault: Fault
    begun_at: float
    """Epoch seconds."""
    seconds: float | None = None
    """
    Time from the beginning of the fault until results flow again, or None after the deadline.

    Results flow when every source partition has a result in the database for a record that was sent after the end of
    the fault and after its last restart.
    """
    replayed: int = 0
    """Records written again before the next fault."""


@dataclass(frozen=True)
class Row:
    """The faults of one kind."""

    kind: str
    count: int
    median_seconds: float | None
    max_seconds: float | None
    replayed: int
    lost: int
    wrong: int
    unhealed: int = 0


@dataclass(frozen=True)
class Outcome:
    """All faults of a run, its reconciliation, and the number of unsent records."""

    incidents: list[Incident]
    reconciliation: Reconciliation
    log: RunLog
    sent: int
    failed_sends: int
    is_interrupted: bool = False

    @property
    def rows(self) -> list[Row]:
        """Return one row for each kind, sorted by name."""
        lost, wrong = self._by_kind()
        kinds = sorted({incident.fault.kind for incident in self.incidents} | lost.keys() | wrong.keys())
        return [self._row(kind, lost.get(kind, 0), wrong.get(kind, 0)) for kind in kinds]

    @property
    def lost(self) -> int:
        """Return the number of missing results and records."""
        return sum(row.lost for row in self.rows)

    @property
    def wrong(self) -> int:
        """Return the number of all other differences from the replay."""
        return sum(row.wrong for row in self.rows)

    @property
    def unhealed(self) -> int:
        """Return the number of faults without recovery."""
        return sum(incident.seconds is None for incident in self.incidents)

    @property
    def status(self) -> int:
        """Return 0 if nothing is lost or wrong and the pipeline always recovered, otherwise 1."""
        return int(bool(self.lost or self.wrong or self.unhealed or self.failed_sends))

    def _row(self, kind: str, lost: int, wrong: int) -> Row:
        of_kind = [incident for incident in self.incidents if incident.fault.kind == kind]
        seconds = [incident.seconds for incident in of_kind if incident.seconds is not None]
        middle, longest = (median(seconds), max(seconds)) if seconds else (None, None)
        replayed = sum(incident.replayed for incident in of_kind)
        return Row(kind, len(of_kind), middle, longest, replayed, lost, wrong, len(of_kind) - len(seconds))

    def _by_kind(self) -> tuple[dict[str, int], dict[str, int]]:
        """Count differences by the fault at or before the send time of their record."""
        lost, wrong = dict[str, int](), dict[str, int]()
        for difference in self.reconciliation.differences:
            kind = self._kind_at(self._sent_at(difference))
            counts = lost if LOST.match(difference) else wrong
            counts[kind] = counts.get(kind, 0) + 1
        return lost, wrong

    def _sent_at(self, difference: str) -> float | None:
        """Return when the first record of a difference was sent, in epoch seconds, or None if that is unknown."""
        identity = IDENTITY.match(difference)
        if identity is None:
            return None
        if source := self.log.sources.get(identity[2]):
            return source.t0 / 1000
        parts = identity[2].split("/")
        name = f'"{parts[min(NAME_IN_ID.get(identity[1], 0), len(parts) - 1)]}"'.encode()
        times = [record.t0 for record in self.log.sources.values() if name in (record.value or b"")]
        return min(times) / 1000 if times else None

    def _kind_at(self, sent_at: float | None) -> str:
        earlier = [incident for incident in self.incidents if sent_at is not None and incident.begun_at <= sent_at]
        return earlier[-1].fault.kind if earlier else OUTSIDE
