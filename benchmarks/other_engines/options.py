"""Command-line options of the comparison, and the conditions for publishing results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.cli import QUICK_RUN, RunOptions
from benchmarks.results.record_times import Traffic
from benchmarks.results.validity import MAX_FOREIGN_CORES

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "quick": {**QUICK_RUN, "warm_up_seconds": 9},
    # Two boundaries at 300 s and 600 s after the start, and a warm-up that ends long before the first one.
    "long_interval": {"duration": 580, "warm_up_seconds": 45, "interval_seconds": 300, "repeats": 1},
    "limits": {
        "duration": 12,
        "warm_up_seconds": 20,
        "interval_seconds": 10,
        "repeats": 1,
        "rate": (4_000, 8_000, 16_000, 32_000, 64_000),
    },
}
"""Values of short runs and of the two other measurements, which replace the defaults."""


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of this benchmark. The default values configure a full run, which takes about an hour."""

    duration: float = 44
    warm_up_seconds: float = 42
    warm_up_rate: float = 2_000
    """Records per second at the beginning of the warm-up, for a faster compilation."""
    interval_seconds: float = 12
    """Commit interval of all engines in seconds, which is the trigger interval of real-time mode."""
    repeats: int = 3
    rate: tuple[float, ...] = (1_000,)
    """Records per second. Several rates are measured in sequence."""
    max_foreign_cores: float = MAX_FOREIGN_CORES
    """Number of cores that other programs may use during a published run."""
    long_interval: bool = False
    """Measure the engines with state at a commit interval of five minutes instead, once each (40 minutes)."""
    limits: bool = False
    """Search for the highest rate that each engine sustains instead (40 minutes)."""

    def __post_init__(self) -> None:
        """Reject incompatible options."""
        if self.long_interval and self.limits:
            raise ValueError("--long-interval and --limits are two measurements; run them one after the other")
        if self.publish and (self.quick or self.filter):
            raise ValueError("--quick and --filter measure only a part, which must not be published; omit --publish")

    @property
    def quiet_limit(self) -> float | None:
        """Return the number of cores that other programs may use, or None without publication."""
        return self.max_foreign_cores if self.publish else None

    def traffics(self) -> list[Traffic]:
        """Return the traffic of each rate."""
        return [
            Traffic(rate, self.warm_up_seconds, self.duration, warm_up_rate=self.warm_up_rate) for rate in self.rate
        ]
