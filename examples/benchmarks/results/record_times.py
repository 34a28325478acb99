"""The times of the records of one run, and the traffic that the run sends."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Arrivals = Literal["constant", "poisson"]
Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Traffic:
    """Rate, duration and arrival pattern of the records that one run sends."""

    rate: float
    """Records per second."""
    warm_up_seconds: float
    """Seconds at the start of the traffic, whose records are sent but not measured."""
    duration_seconds: float
    """Length of the measured part."""
    arrivals: Arrivals = "constant"
    drain_seconds: float = 30
    """Maximum time between sending the last record and receiving the last output."""

    @property
    def records(self) -> int:
        """Return the number of records of the run, including the warm-up."""
        return round(self.rate * self.seconds)

    @property
    def seconds(self) -> float:
        """Return the duration of the traffic in seconds, including the warm-up."""
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
    """Excess duration of each sleep of one millisecond in the load generator."""

    def measured(self, traffic: Traffic) -> npt.NDArray[np.bool_]:
        """Return a mask of the records that were due after the warm-up. Selection by arrival would hide stalls."""
        mask: npt.NDArray[np.bool_] = self.due_us >= self.due_us[0] + traffic.warm_up_seconds * 1e6
        return mask
