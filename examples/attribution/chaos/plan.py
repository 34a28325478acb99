"""Draw the faults of a run from a seed. Equal seeds, numbers and kinds produce equal plans."""

import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal

from examples.attribution.chaos.parts.system import System

Need = Literal["", "cluster", "mount", "standby"]
Begin = Callable[[System, "Fault"], AbstractContextManager[None]]
"""Begins a fault; the fault ends with the block of the context manager."""
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 3.0, 8.0


@dataclass(frozen=True)
class Fault:
    """A planned fault. It begins when the run has recovered from the previous one and has no backlog."""

    kind: str
    seconds: float
    """Duration; 0 for a kill."""
    strength: float
    """A random number from 0 to 1 for the delay, the jump or the target, depending on the kind."""
    pause_seconds: float
    """Pause after the recovery; a restart within it means that the recovery was not complete."""
    begin: Begin = field(repr=False)

    def __str__(self) -> str:
        return f"{self.kind} for {self.seconds:g} s" if self.seconds else self.kind


@dataclass(frozen=True)
class Kind:
    """A kind of fault, its minimum and maximum duration, and its needs."""

    what: str
    begin: Begin
    min_seconds: float = 0
    max_seconds: float = 0
    needs: Need = ""


def plan(seed: int, count: int, kinds: Mapping[str, Kind]) -> list[Fault]:
    """Draw `count` faults, each of `kinds` once before any kind is repeated."""
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
