"""The command `prove`: start the services, run the checks, print the verdicts."""

import argparse
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import psutil
import pyspark
from py4j.protocol import Py4JError

from spark_rtm.prove.query import Options
from spark_rtm.prove.run import prove
from spark_rtm.prove.run_job import runs_of_code
from spark_rtm.prove.subjects import target
from spark_rtm.prove.subjects.bench import adopt_orphans, bench, end_now, jvm, kill_processes, kill_spark
from spark_rtm.prove.subjects.job import CANNOT, JobLostError
from spark_rtm.prove.subjects.samples import read_samples
from spark_rtm.prove.verdicts.verdict import CHECKS, Verdict, exit_status, render


def run(arguments: argparse.Namespace) -> int:
    """Prove one target; print the verdicts to standard output and the progress to standard error."""
    try:
        status = _run(arguments)
    except KeyboardInterrupt:
        status = 130
    # Python would wait for each thread that the job has left.
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        end_now(status)
    return status


def _run(arguments: argparse.Namespace) -> int:
    progress = _Progress()
    others = adopt_orphans()
    try:
        verdicts = _verdicts(arguments, progress)
        # The JVM ends with Python, and deletes its files before.
        others |= {child for child in psutil.Process().children() if (spark := jvm()) and child.pid == spark.pid}
    except JobLostError as error:
        return int(arguments.program.wrong(f"{CANNOT}: {error}"))
    except Exception as error:
        if progress.is_interrupted:
            raise KeyboardInterrupt from None
        if not isinstance(error, OSError | RuntimeError | ValueError | TimeoutError | Py4JError):
            raise
        return int(arguments.program.wrong(f"prove: {error}"))
    finally:
        kill_processes(others)
    progress.say("done")
    conditions = {
        "command": f"{arguments.program.call} prove {arguments.target}",
        "date": datetime.now(UTC).date().isoformat(),
        "pyspark": pyspark.__version__,
        "cores": os.cpu_count(),
        "seconds": round(progress.seconds()),
    }
    print(render(_relative(verdicts), arguments.format, conditions), flush=True)
    return exit_status(verdicts)


def _verdicts(arguments: argparse.Namespace, progress: "_Progress") -> list[Verdict]:
    # A background job of a shell ignores SIGINT, and SIGTERM would skip the `finally` blocks that stop the servers.
    signal.signal(signal.SIGINT, progress.interrupt)
    signal.signal(signal.SIGTERM, progress.interrupt)
    examined = target.load(arguments.target)
    options = _options(arguments, examined)
    if isinstance(examined, target.Job):
        progress.say(runs_of_code(examined, options.checks))
    progress.say("starting a Kafka broker and Spark")
    with bench(options.slots) as services:
        # PySpark has replaced the handler by its own, which only cancels running jobs.
        signal.signal(signal.SIGINT, progress.interrupt)
        verdicts = prove(services, examined, options, progress.say)
        progress.say("stopping")
    return verdicts


def _options(arguments: argparse.Namespace, examined: target.Target | target.Job) -> Options:
    samples = {}
    # The topics of a job are known only when it runs.
    names = () if isinstance(examined, target.Job) else (examined.stream, *examined.tables)
    for text in arguments.samples or []:
        name, _, path = text.partition("=")
        if not path or (names and name not in names):
            raise ValueError(f"--samples {text}: write NAME=FILE.jsonl; NAME is {' or '.join(names) or 'a topic'}")
        samples[name] = read_samples(Path(path))
    expect = arguments.expect.resolve() if arguments.expect else None
    if expect:
        read_samples(expect)
    numbers = {"--partitions": arguments.partitions, "--duration": arguments.duration, "--rate": arguments.rate}
    if wrong := [name for name, value in numbers.items() if not 0 < value < math.inf]:
        raise ValueError(f"{', '.join(wrong)}: use a finite number above 0")
    topics, checks = (
        tuple(name for name in (text or "").split(",") if name) for text in (arguments.topics, arguments.only)
    )
    if unknown := [check for check in checks if check not in CHECKS]:
        raise ValueError(f"--only {','.join(unknown)}: use some of {','.join(CHECKS)}")
    return Options(
        samples,
        expect,
        arguments.partitions,
        arguments.slots,
        arguments.duration,
        arguments.rate,
        topics,
        frozenset(checks or CHECKS),
        side_effects=arguments.side_effects,
    )


def _relative(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts with paths as the user would write them here."""
    here = Path.cwd()
    found = []
    for verdict in verdicts:
        path = Path(verdict.path).resolve()
        name = path.relative_to(here).as_posix() if verdict.path and path.is_relative_to(here) else verdict.path
        found.append(replace(verdict, path=name))
    return found


class _Progress:
    """Print each step with the seconds since the start, and note an interrupt."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self.is_interrupted = False

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self._started

    def say(self, step: str) -> None:
        """Print one step to standard error."""
        print(f"{self.seconds():5.0f} s  {step}", file=sys.stderr, flush=True)

    def interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """End the run; a second interrupt does not wait for the servers or for the code of a job."""
        if self.is_interrupted:
            self.say("interrupted again; killing all processes")
            end_now(130)
        self.is_interrupted = True
        self.say("interrupted; stopping Spark and the broker")
        # Otherwise, py4j logs the end of its current call with a traceback, through the root logger.
        logging.disable()
        kill_spark()
        raise KeyboardInterrupt
