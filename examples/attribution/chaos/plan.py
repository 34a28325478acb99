"""Draw the faults of a run from a seed; the same seed, number and kinds give the same plan."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Need = Literal["", "cluster", "mount"]
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 3.0, 8.0


@dataclass(frozen=True)
class Kind:
    """A kind of fault, how long it lasts at least and at most, and what it needs."""

    what: str
    min_seconds: float = 0
    max_seconds: float = 0
    needs: Need = ""


KINDS = {
    "kill-broker": Kind("kill -9 of the broker, which then starts again"),
    "pause-broker": Kind("the broker's process is stopped (SIGSTOP)", 3, 10),
    "remove-broker": Kind("kill -9 of the broker, which stays away longer than `delivery.timeout.ms`", 10, 15),
    "slow-broker": Kind("the connections of the pipeline to the broker are slow and break", 4, 10),
    "kill-database": Kind("kill -9 of the database, which then starts again"),
    "pause-database": Kind("all processes of the database are stopped", 3, 10),
    "exhaust-database": Kind("the database has no free connection, and closes those of the pipeline", 3, 10),
    "slow-database": Kind("the connections of the pipeline to the database are slow and break", 4, 10),
    "kill-driver": Kind("kill -9 of the driver with its JVM; its supervisor starts it again"),
    "pause-driver": Kind("the driver and its JVM are stopped", 3, 10),
    "kill-jvm": Kind("kill -9 of the driver's JVM alone"),
    "pause-jvm": Kind("the driver's JVM alone is stopped", 3, 10),
    "kill-follower": Kind("kill -9 of the process that copies results into the database"),
    "pause-follower": Kind("the process that copies results into the database is stopped", 3, 10),
    "fill-disk": Kind("the disk under the checkpoints is full", 4, 12, "mount"),
    "jump-device-clock": Kind("the clocks of the devices (`event_ts`) jump by up to ten minutes, and back", 3, 10),
    "jump-collector-clock": Kind("the clock of the collector (`server_ts`) jumps, and back", 3, 10),
    "kill-executor": Kind("kill -9 of one of two executors", needs="cluster"),
    "pause-executor": Kind("one of two executors is stopped", 3, 10, "cluster"),
    "kill-worker": Kind("kill -9 of one of two Spark workers, which then starts again", needs="cluster"),
    "pause-worker": Kind("one of two Spark workers is stopped", 3, 10, "cluster"),
}
"""All kinds of faults, by name."""


@dataclass(frozen=True)
class Fault:
    """One planned fault. It begins when the run has recovered from the one before and has no backlog."""

    kind: str
    seconds: float
    """How long it lasts; 0 for a kill."""
    strength: float
    """A random number from 0 to 1 that sets, depending on the kind, the delay, the jump or the process that it hits."""
    pause_seconds: float
    """Time after the recovery; a restart within it means that the fault has not healed yet."""

    def __str__(self) -> str:
        """Name the kind and the duration."""
        return f"{self.kind} for {self.seconds:g} s" if self.seconds else self.kind


def plan(seed: int, count: int, kinds: Sequence[str]) -> list[Fault]:
    """Draw `count` faults. No kind is drawn twice before each of `kinds` was drawn once."""
    choice, faults, names = random.Random(seed), list[Fault](), list[str]()
    for _ in range(count):
        if not names:
            names = sorted(kinds)
            choice.shuffle(names)
        kind = KINDS[name := names.pop()]
        faults.append(
            Fault(
                name,
                round(choice.uniform(kind.min_seconds, kind.max_seconds), 1),
                round(choice.random(), 3),
                round(choice.uniform(MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS), 1),
            )
        )
    return faults
