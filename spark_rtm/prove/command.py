"""The command `prove`: start the services, run the checks, print the verdicts."""

import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import psutil
import pyspark
from py4j.protocol import Py4JError

from spark_rtm.program import UsageError
from spark_rtm.prove.arguments import Arguments
from spark_rtm.prove.query import Options
from spark_rtm.prove.run import prove, runs_of_code
from spark_rtm.prove.subjects import target
from spark_rtm.prove.subjects.bench import adopt_orphans, bench, end_now, jvm, kill_processes, kill_spark
from spark_rtm.prove.subjects.job import CANNOT
from spark_rtm.prove.subjects.samples import read_samples
from spark_rtm.prove.verdicts.verdict import CHECKS, Verdict, exit_status, render, summary
from spark_rtm.text.finding import printable


def run(arguments: Arguments) -> int:
    """Prove one target. Print the verdicts to standard output and the progress to standard error."""
    try:
        status = _run(arguments)
    except KeyboardInterrupt:
        status = 130
    except UsageError as error:
        if not _has_threads():
            raise
        print(f"rtm: {printable(str(error))}", file=sys.stderr, flush=True)
        status = 2
    if _has_threads():
        end_now(status)
    return status


def _has_threads() -> bool:
    """Return whether the job has left threads, for whose end Python would wait."""
    return any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())


def _run(arguments: Arguments) -> int:
    progress, verdicts, here = _Progress(), list[Verdict](), Path.cwd()

    def show(verdict: Verdict) -> None:
        verdicts.append(_relative(verdict, here))
        if arguments.format == "text":
            print(render(verdicts[-1:], "text", {}), flush=True)

    stop = _stop(arguments, progress, show)
    conditions = {
        "command": f"rtm prove {arguments.target}",
        "date": datetime.now(UTC).date().isoformat(),
        "pyspark": pyspark.__version__,
        "cores": os.cpu_count(),
        "seconds": round(progress.seconds()),
        **({"stop": stop} if stop else {}),
    }
    if arguments.format == "text" and not stop:
        print(summary(verdicts), flush=True)
    if arguments.format != "text" and (verdicts or not stop):
        verdicts.sort(key=lambda verdict: CHECKS.index(verdict.check))
        print(render(verdicts, arguments.format, conditions), flush=True)
    if stop:
        raise UsageError(stop)
    return exit_status(verdicts)


def _stop(arguments: Arguments, progress: "_Progress", show: Callable[[Verdict], None]) -> str:
    """Show the verdicts, and return why they are incomplete, or an empty string."""
    others = adopt_orphans()
    try:
        _verdicts(arguments, progress, show)
        # The JVM is kept: it deletes its files and ends with this process.
        others |= {child for child in psutil.Process().children() if (spark := jvm()) and child.pid == spark.pid}
    except Exception as error:
        if progress.is_interrupted:
            raise KeyboardInterrupt from None
        if not isinstance(error, OSError | RuntimeError | ValueError | Py4JError):
            raise
        return f"{CANNOT if progress.has_started else 'prove'}: {error}"
    finally:
        kill_processes(others)
    progress.say("done")
    return ""


def _verdicts(arguments: Arguments, progress: "_Progress", show: Callable[[Verdict], None]) -> None:
    # A background job of a shell ignores SIGINT, and SIGTERM would skip the `finally` blocks that stop the servers.
    signal.signal(signal.SIGINT, progress.interrupt)
    signal.signal(signal.SIGTERM, progress.interrupt)
    found, options = examined(arguments)
    jars = [arguments.packages]
    if isinstance(found, target.Job):
        jars.append(found.confs.get("spark.jars.packages", ""))
        progress.say(runs_of_code(found, options.checks))
    progress.has_started = True
    progress.say("starting a Kafka broker and Spark")
    with bench(options.slots, _names(",".join(jars))) as services:
        # PySpark has replaced the handler with its own, which only cancels running jobs.
        signal.signal(signal.SIGINT, progress.interrupt)
        prove(services, found, options, progress.say, show)
        progress.say("stopping")


def examined(arguments: Arguments) -> tuple[target.Target | target.Job, Options]:
    """Return the target and the options of a command line. Raise ValueError for an invalid argument."""
    if wrong := [text for text in arguments.conf if "=" not in text]:
        raise ValueError(f"--conf {wrong[0]}: write KEY=VALUE")
    confs = dict(text.partition("=")[::2] for text in arguments.conf)
    found = target.load(arguments.target, arguments.of_job, confs, side_effects=arguments.side_effects)
    samples = {}
    # The topics of a job are known only when it runs.
    names = () if isinstance(found, target.Job) else (found.stream, *found.tables)
    for text in arguments.samples:
        name, _, path = text.partition("=")
        if not path or (names and name not in names):
            raise ValueError(f"--samples {text}: write NAME=FILE.jsonl; NAME is {' or '.join(names) or 'a topic'}")
        samples[name] = read_samples(Path(path))
    expect = arguments.expect.resolve() if arguments.expect else None
    if expect:
        read_samples(expect)
    numbers = {"--partitions": arguments.partitions, "--duration": arguments.duration, "--rate": arguments.rate}
    if outside := [name for name, value in numbers.items() if not 0 < value < math.inf]:
        raise ValueError(f"{', '.join(outside)}: use a finite number above 0")
    checks = _names(arguments.only)
    if unknown := [check for check in checks if check not in CHECKS]:
        raise ValueError(f"--only {','.join(unknown)}: use some of {','.join(CHECKS)}")
    return found, Options(
        samples,
        expect,
        arguments.partitions,
        arguments.slots,
        arguments.duration,
        arguments.rate,
        tuple(_names(arguments.topics)),
        frozenset(checks or CHECKS),
    )


def _names(text: str) -> list[str]:
    return [name for name in text.replace(" ", "").split(",") if name]


def _relative(verdict: Verdict, here: Path) -> Verdict:
    path = (here / verdict.path).resolve()
    is_inside = bool(verdict.path) and path.is_relative_to(here)
    return replace(verdict, path=path.relative_to(here).as_posix()) if is_inside else verdict


class _Progress:
    def __init__(self) -> None:
        self._started = time.monotonic()
        self.is_interrupted = self.has_started = False

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self._started

    def say(self, step: str) -> None:
        print(f"{self.seconds():5.0f} s  {step}", file=sys.stderr, flush=True)

    def interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """Stop the run. A second interrupt does not wait for servers or for the job."""
        if self.is_interrupted:
            self.say("interrupted again; killing all processes")
            end_now(130)
        self.is_interrupted = True
        self.say("interrupted; stopping Spark and the broker")
        # Otherwise, py4j logs the end of its current call with a traceback, through the root logger.
        logging.disable()
        kill_spark()
        raise KeyboardInterrupt
