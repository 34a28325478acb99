"""Raw times of the records of one run, and the traffic that the run sends."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Arrivals = Literal["constant", "poisson"]
Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Traffic:
    """The records that one run sends."""

    rate: float
    """Records per second."""
    warm_up_seconds: float
    """Records that are due earlier than this are sent but not counted."""
    duration_seconds: float
    """Length of the measured part."""
    arrivals: Arrivals = "constant"
    drain_seconds: float = 30
    """How long to wait for the last answer after the last record was sent."""

    @property
    def records(self) -> int:
        """Records of the run, including the warm-up."""
        return round(self.rate * self.seconds)

    @property
    def seconds(self) -> float:
        """Length of the traffic, including the warm-up."""
        return self.warm_up_seconds + self.duration_seconds


@dataclass(frozen=True)
class RecordTimes:
    """Times of each record, indexed by its sequence number; 0 means that the event has not happened."""

    due_us: Times
    sent_us: Times
    appended_ms: Times
    answer_appended_ms: Times
    received_us: Times
    oversleep_us: Times
    """For each sleep of one millisecond in the load generator: how much longer it lasted."""

    def measured(self, traffic: Traffic) -> npt.NDArray[np.bool_]:
        """Return a mask of the records after the warm-up, selected by due time: arrival time would hide stalls."""
        mask: npt.NDArray[np.bool_] = self.due_us >= self.due_us[0] + traffic.warm_up_seconds * 1e6
        return mask
