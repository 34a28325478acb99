"""The child process of `rtm prove`: run the user's code, Spark and the broker, and send events to the parent."""

import json
import math
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError

from spark_rtm.prove import Arguments
from spark_rtm.prove.against import run as against
from spark_rtm.prove.against.pair import started
from spark_rtm.prove.engine import bench
from spark_rtm.prove.job import runner, target
from spark_rtm.prove.loop import Options
from spark_rtm.prove.records.samples import read_samples
from spark_rtm.prove.run import prove, runs_of_code
from spark_rtm.prove.verdicts import CHECKS

ORDER, EVENTS = "order.pickle", "events"
SAY, VERDICT, STOP, DONE = "say", "verdict", "stop", "done"
START = "starting a Kafka broker and Spark"


def main(folder: Path) -> None:
    """Prove the target described in `folder`, and append events to a file there. The parent ends this process."""
    arguments, started_in = pickle.loads((folder / ORDER).read_bytes())
    os.chdir(started_in)
    with (folder / EVENTS).open("a", encoding="utf-8") as events:

        def send(kind: str, content: Any = "") -> None:
            events.write(f"{json.dumps([kind, content])}\n")
            events.flush()

        runner.limit_seconds = runner.JOB_SECONDS
        try:
            _prove(arguments, send)
        except (OSError, RuntimeError, ValueError, Py4JError) as error:
            send(STOP, str(error))


def _prove(arguments: Arguments, send: Callable[..., None]) -> None:
    if arguments.against:
        _compare(arguments, send)
        return
    found, options = examined(arguments)
    jars = [arguments.packages]
    if not found.function:
        jars.append(found.confs.get("spark.jars.packages", ""))
        send(SAY, runs_of_code(found, options.checks))
    send(SAY, START)
    with bench(options.slots, _names(",".join(jars))) as services:
        prove(services, found, options, lambda step: send(SAY, step), lambda verdict: send(VERDICT, asdict(verdict)))
        send(DONE)


def _compare(arguments: Arguments, send: Callable[..., None]) -> None:
    jobs, options = versions_of(arguments)
    names = " and ".join(job.path.name for job in jobs)
    send(SAY, f"the code of {names} will run twice; its plain Python code runs with your permissions")
    send(SAY, START)
    packages = ",".join([arguments.packages, jobs[1].confs.get("spark.jars.packages", "")])
    with started(jobs, options.partitions, arguments.slots, _names(packages)) as pair:
        for verdict in against.compare(pair, options, lambda step: send(SAY, step)):
            send(VERDICT, asdict(verdict))
        send(DONE)


def versions_of(arguments: Arguments) -> tuple[tuple[target.Job, target.Job], against.Options]:
    """Return the old and the new version of a job, and the options. Raise ValueError for an invalid argument."""
    new, options = examined(arguments)
    if new.function or not arguments.against.endswith((".py", ".ipynb")):
        raise ValueError("--against compares two jobs; pass two files that start their queries, new.py and old.py")
    for name, records in options.samples.items():
        if len(records) > against.MAX_SAMPLES:
            most = f"{against.MAX_SAMPLES:,}"
            raise ValueError(f"--samples {name}: {len(records):,} records, but --against compares at most {most}")
    confs = {**new.confs, **_confs("--old-conf", arguments.old_conf)}
    old = target.load(arguments.against, arguments.of_job, confs, side_effects=arguments.side_effects)
    key = tuple(_names(arguments.key))
    return (old, new), against.Options(options.samples, key, options.query, options.partitions, arguments.seed)


def _confs(option: str, texts: Sequence[str]) -> dict[str, str]:
    if wrong := [text for text in texts if "=" not in text]:
        raise ValueError(f"{option} {wrong[0]}: write KEY=VALUE")
    return dict(text.partition("=")[::2] for text in texts)


def examined(arguments: Arguments) -> tuple[target.Job, Options]:
    """Return a command line's target and options. Raise ValueError for an invalid argument."""
    confs = _confs("--conf", arguments.conf)
    found = target.load(arguments.target, arguments.of_job, confs, side_effects=arguments.side_effects)
    samples = {}
    # A job's topics are known only when the job runs.
    names = tuple(found.topics)
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
        query=arguments.query,
    )


def _names(text: str) -> list[str]:
    return [name for name in text.replace(" ", "").split(",") if name]
