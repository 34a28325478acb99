"""
Do the runs of a plan one after the other on one broker, and show how far it is.

Cells and traffic arrive; the runs leave, valid and invalid ones.
A busy moment of the machine must not hit one engine only, so repeats alternate: forwards, then backwards.
A run whose records were sent late is done again a few times, and what it has shown is kept beside the result.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from examples.benchmarks.harness.baseline import raw_echo
from examples.benchmarks.harness.load_generator import Traffic
from examples.benchmarks.harness.run import Cell, Trial, run_trial
from examples.services import kafka_broker

START_AND_END_SECONDS = 30.0
"""Start of an engine and its empty batches, the last answers, and the comparison; more if the runs took more."""
WIDTH = 160
MOST_LATE = 2
"""Late runs in a row that are done again; one more, and it is the engine that leaves the sender no time."""

Step = tuple[Cell, Traffic]
T = TypeVar("T")


def interleaved(cells: Sequence[Cell], traffics: Sequence[Traffic], repeats: int) -> list[Step]:
    """Return every cell with every traffic so many times, in an order that turns round with each repeat."""
    return in_turns([(cell, traffic) for traffic in traffics for cell in cells], repeats)


def in_turns(steps: Sequence[T], repeats: int) -> list[T]:
    """Return the steps so many times, forwards and backwards in turn."""
    return [step for repeat in range(repeats) for step in (steps if repeat % 2 == 0 else reversed(steps))]


@dataclass
class Bar:
    """The progress of a plan: a bar with the remaining time on a terminal, a line for each run elsewhere."""

    steps: Sequence[Step]
    console: Console
    done: int = 0
    step_started_at: float = 0.0
    beyond: list[float] = field(default_factory=list)
    """Seconds that each run took besides its traffic; the echo, which comes first, takes far fewer than an engine."""
    _progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        """Make the bar, which is not shown yet."""
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("about {task.fields[left]} left"))
        self._progress = Progress(*columns, console=self.console, transient=True, auto_refresh=False)
        self._task = self._progress.add_task("", left="")

    @contextmanager
    def shown(self) -> Iterator["Bar"]:
        """Show the bar until the block ends."""
        if not self.console.is_terminal:
            yield self
            return
        with self._progress:
            yield self

    def begin(self) -> None:
        """Say which run comes next."""
        cell, traffic = self.steps[self.done]
        self.step_started_at = time.monotonic()
        text = f"{self.done + 1}/{len(self.steps)} {cell.work}, {cell.name}, {traffic.rate:g}/s {traffic.arrivals}"
        self._progress.update(self._task, description=text)
        if not self.console.is_terminal:
            self.console.print(f"{text}; about {_rounded(self._left())} left")

    def tick(self) -> None:
        """Move on within the run."""
        within = min(time.monotonic() - self.step_started_at, self._seconds(self.steps[self.done]))
        total, left = sum(map(self._seconds, self.steps)), self._left() - within
        self._progress.update(self._task, completed=total - left, total=total, left=_rounded(left), refresh=True)

    def end(self, trial: Trial, *, again: bool = False) -> None:
        """Say what the run has shown, and whether it is done again."""
        self.beyond.append(time.monotonic() - self.step_started_at - _traffic_seconds(self.steps[self.done]))
        self.done += not again
        numbers = trial.numbers
        shown = [f"{name} {numbers[f'{name}_ms']:,.1f}" for name in ("p50", "p99", "max") if numbers["records"]]
        self.console.print(f"  {trial.cell.work}, {trial.cell.name}: {' '.join(shown)} ms")
        once_more = "; once more" if again else ""
        problems = ((f"{problem}{once_more}", "bold red") for problem in trial.problems)
        for text, style in (*problems, *((warning, "yellow") for warning in trial.warnings)):
            self.console.print(f"  {text}", style=style, soft_wrap=True)

    def _left(self) -> float:
        return sum(map(self._seconds, self.steps[self.done :]))

    def _seconds(self, step: Step) -> float:
        return _traffic_seconds(step) + max(START_AND_END_SECONDS, mean(self.beyond or [0]))


def run_plan(steps: Sequence[Step], partitions: int, console: Console) -> list[Trial]:
    """Do the runs on a broker of their own and return them in order; raises RuntimeError when an engine fails."""
    if not steps:
        return []
    with warm_broker(steps[0][1], partitions, console) as bootstrap_servers:
        return run_steps(bootstrap_servers, steps, partitions, console)


@contextmanager
def warm_broker(traffic: Traffic, partitions: int, console: Console) -> Iterator[str]:
    """Yield the address of a broker that has done as much work as the warm-up of `traffic`."""
    with kafka_broker() as bootstrap_servers:
        console.print("warming the broker up")
        # The code of a new broker is not compiled yet, which would make the first engine look slow.
        warm_up = Cell("warm-up", "echo", raw_echo)
        run_trial(bootstrap_servers, warm_up, replace(traffic, measured_seconds=1), partitions)
        yield bootstrap_servers


def run_steps(bootstrap_servers: str, steps: Sequence[Step], partitions: int, console: Console) -> list[Trial]:
    """Do the runs and return them in order, without those that were late."""
    bar = Bar(steps, console)
    with bar.shown():
        return [_run(bootstrap_servers, step, partitions, bar) for step in steps]


def _run(bootstrap_servers: str, step: Step, partitions: int, bar: Bar) -> Trial:
    late = list[dict[str, Any]]()
    while True:
        bar.begin()
        trial = run_trial(bootstrap_servers, *step, partitions, bar.tick)
        again = trial.is_late() and len(late) < MOST_LATE
        bar.end(trial, again=again)
        if not again:
            return replace(trial, late=tuple(late))
        late.append(trial.numbers)


def plain_console() -> Console:
    """Return a console that is wide enough for the tables also where there is no terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=WIDTH, highlight=False)


def _rounded(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _traffic_seconds(step: Step) -> float:
    return step[1].warm_up_seconds + step[1].measured_seconds
