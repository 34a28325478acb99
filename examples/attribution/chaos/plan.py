"""Draw the faults of a run from a seed. The same seed, number and kinds of faults produce the same plan."""

import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal

from examples.attribution.chaos.parts.system import System

Need = Literal["", "cluster", "mount", "standby"]
Begin = Callable[[System, "Fault"], AbstractContextManager[None]]
"""Begins a fault. The fault ends with the block of the returned context manager."""
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 3.0, 8.0


@dataclass(frozen=True)
class Fault:
    """A planned fault. It begins when the run has recovered from the previous fault and has no backlog."""

    kind: str
    seconds: float
    """Duration in seconds, or 0 if the fault kills a process."""
    strength: float
    """A random number from 0 to 1. Depending on the kind, it determines the delay, the clock jump or the target."""
    pause_seconds: float
    """Pause in seconds after the recovery. A restart during the pause means that the recovery was not complete."""
    begin: Begin = field(repr=False)

    def __str__(self) -> str:
        return f"{self.kind} for {self.seconds:g} s" if self.seconds else self.kind


@dataclass(frozen=True)
class Kind:
    """A kind of fault: what happens, how it begins, its minimum and maximum duration (s), and what it needs."""

    what: str
    begin: Begin
    min_seconds: float = 0
    max_seconds: float = 0
    needs: Need = ""


def plan(seed: int, count: int, kinds: Mapping[str, Kind]) -> list[Fault]:
    """Draw `count` faults. Every kind is drawn once before any kind is drawn again."""
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
                kind.begin,
            )
        )
    return faults
