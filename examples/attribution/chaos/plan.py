"""Draw the faults of a run from a seed; the same seed, number and kinds give the same plan."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Need = Literal["", "cluster", "mount", "standby"]
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 3.0, 8.0


@dataclass(frozen=True)
class Kind:
    """A kind of fault, how long it lasts at least and at most, and what it needs."""

    what: str
    min_seconds: float = 0
    max_seconds: float = 0
    needs: Need = ""


@dataclass(frozen=True)
class Fault:
    """One planned fault. It begins when the run has recovered from the one before and has no backlog."""

    kind: str
    seconds: float
    """How long it lasts; 0 for a kill."""
    strength: float
    """A random number from 0 to 1 that sets, depending on the kind, the delay, the jump or the process that it hits."""
    pause_seconds: float
    """Time after the recovery; a restart within it means that the pipeline has not recovered yet."""

    def __str__(self) -> str:
        """Name the kind and the duration."""
        return f"{self.kind} for {self.seconds:g} s" if self.seconds else self.kind


def plan(seed: int, count: int, kinds: Mapping[str, Kind]) -> list[Fault]:
    """Draw `count` faults. No kind is drawn twice before each of `kinds` was drawn once."""
    choice, faults, names = random.Random(seed), list[Fault](), list[str]()
    for _ in range(count):
        if not names:
            names = sorted(kinds)
            choice.shuffle(names)
        kind = kinds[name := names.pop()]
        faults.append(
            Fault(
                name,
                round(choice.uniform(kind.min_seconds, kind.max_seconds), 1),
                round(choice.random(), 3),
                round(choice.uniform(MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS), 1),
            )
        )
    return faults
