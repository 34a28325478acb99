import ast
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spark_rtm.prove.engine import Bench
from spark_rtm.prove.job import target
from spark_rtm.prove.loop import Options
from spark_rtm.prove.run import prove
from spark_rtm.prove.verdicts import CHECKS, Verdict

OPTIONS = Options(duration=1, rate=20, interval_ms=1_000)
JOBS = Path(__file__).with_name("jobs")
MARK = re.compile(r"# expect: (\w+) (\w+) (.*?)\s*(?=# expect:|$)")


@dataclass
class Judge:
    """Proves targets with short loads, and keeps the steps and the verdicts that `prove` prints."""

    bench: Bench
    path: Path
    """The file to which a job's code is written."""
    steps: list[str] = field(default_factory=list)
    shown: list[Verdict] = field(default_factory=list)

    def load(self, code: str, function: str = "", **options: Any) -> target.Job:
        self.path.write_text(code)
        return target.load(f"{self.path}:{function}" if function else str(self.path), **options)

    def __call__(self, job: str | target.Job, *checks: str, **options: Any) -> list[Verdict]:
        """Return the verdicts of some checks, or of all, on a target or on the code of a job."""
        examined = self.load(job) if isinstance(job, str) else job
        chosen = replace(OPTIONS, checks=frozenset(checks or CHECKS), **options)
        return prove(self.bench, examined, chosen, self.steps.append, self.shown.append)

    def one(self, job: str | target.Job, check: str, **options: Any) -> Verdict:
        """Return the only verdict of a check."""
        (found,) = [verdict for verdict in self(job, check, **options) if verdict.check == check]
        return found


@dataclass(frozen=True)
class JobFile:
    """
    A job of `jobs`, with comments for the tests in its first lines.

    `checks` names the checks to run, `function` a function to prove, `arguments` those of the command line, and
    `options` other options; `side effects` allows them. `stops` is part of the message with which `prove` stops, and
    `recorded` is what a run of the job records. `expect: STATUS CHECK TEXT` describes a verdict without a line. In the
    other lines, such a comment describes a verdict on its line, or on the next line that is not such a comment.
    ` ... ` stands for any text.
    """

    name: str
    code: str

    def header(self, key: str) -> str:
        """Return the text of a comment in the first lines."""
        found = re.search(rf"\A(?:# .*\n)*?# {key}: (.*)", self.code)
        return found[1] if found else ""

    def options(self) -> dict[str, Any]:
        return dict(ast.literal_eval(self.header("options") or "{}"))

    def marks(self) -> list[tuple[int, str, str, str]]:
        """Return line, status, check and text of each expected verdict."""
        lines = self.code.splitlines()
        first = next(n for n, line in enumerate(lines) if not line.startswith("# "))
        places = [number + 1 if number >= first else 0 for number in range(len(lines))]
        for number in reversed(range(first, len(lines))):
            if lines[number].lstrip().startswith("# expect: "):
                places[number] = places[number + 1]
        return [(place, *mark) for place, line in zip(places, lines, strict=True) for mark in MARK.findall(line)]


def is_expected(mark: tuple[int, str, str, str], verdict: Verdict) -> bool:
    """Return whether a verdict is the one that a comment describes."""
    line, status, check, text = mark
    parts = map(re.escape, text.split(" ... "))
    found = re.search(".*".join(parts), verdict.text)
    return bool(found) and (line, status, check) == (verdict.line, verdict.status, verdict.check)


def job_files() -> list[JobFile]:
    """Return each job of `jobs`. In the file of small jobs, a line `START` stands for the job of this name."""
    found = [JobFile(path.name.partition(".")[0], path.read_text()) for path in sorted(JOBS.glob("*.py.txt"))]
    _, *parts = re.split(r"^=== (.+)\n", (JOBS / "small_jobs.txt").read_text(), flags=re.MULTILINE)
    jobs = dict(zip(parts[::2], parts[1::2], strict=True))
    start, write = (jobs.pop(name) for name in ("START", "WRITE"))
    for name, code in jobs.items():
        found.append(JobFile(name.replace(" ", "_"), code.replace("START\n", start).replace("WRITE\n", write)))
    return found
