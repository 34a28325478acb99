from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spark_rtm.prove.engine.bench import Bench
from spark_rtm.prove.job import target
from spark_rtm.prove.query import Options
from spark_rtm.prove.run import prove
from spark_rtm.prove.verdicts.verdict import CHECKS, Verdict

OPTIONS = Options(duration=1, rate=20, interval_ms=1_000)


@dataclass
class Judge:
    """Proves targets with short loads, and keeps the steps and the verdicts that `prove` prints."""

    bench: Bench
    path: Path
    """The file for the code of a job."""
    steps: list[str] = field(default_factory=list)
    shown: list[Verdict] = field(default_factory=list)

    def load(self, code: str, function: str = "", **options: Any) -> target.Target | target.Job:
        self.path.write_text(code)
        return target.load(f"{self.path}:{function}" if function else str(self.path), **options)

    def __call__(self, job: str | target.Target | target.Job, *checks: str, **options: Any) -> list[Verdict]:
        """Return the verdicts of some checks, or of all, on a target or on the code of a job."""
        examined = self.load(job) if isinstance(job, str) else job
        chosen = replace(OPTIONS, checks=frozenset(checks or CHECKS), **options)
        return prove(self.bench, examined, chosen, self.steps.append, self.shown.append)

    def one(self, job: str | target.Target | target.Job, check: str, **options: Any) -> Verdict:
        """Return the only verdict of a check."""
        (found,) = [verdict for verdict in self(job, check, **options) if verdict.check == check]
        return found


def line_of(path: Path, part: str) -> int:
    return 1 + next(n for n, text in enumerate(path.read_text(encoding="utf-8").splitlines()) if part in text)
