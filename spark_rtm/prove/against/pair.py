"""Run both versions of a job, each in its own process: send them a schedule of records, and read their results."""

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer
from pyspark.sql import SparkSession

from spark_rtm.kafka.consumer import consumer_from_start, rest_of
from spark_rtm.prove.against.compare import Facts
from spark_rtm.prove.against.schedule import Batch
from spark_rtm.prove.against.version import Version, VersionError
from spark_rtm.prove.engine import Bench
from spark_rtm.prove.job.target import Job
from spark_rtm.prove.process import OtherProcess, other_process
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services.child import running
from spark_rtm.services.folders import new_folder
from spark_rtm.services.kafka import LocalKafka
from spark_rtm.services.packages import package_jars
from spark_rtm.testing.records import Received, Sent, received

KILL_SECONDS = 20.0
OLD, NEW = 0, 1

Results = tuple[list[Received], list[Received]]
"""The results of the old and of the new version."""


@dataclass(frozen=True)
class Outcome:
    """The results of both versions for one schedule, or their errors."""

    results: Results
    opened: list[Received]
    """Results of the new version for the last records, whose windows are still open."""
    errors: tuple[str, str] = ("", "")


@dataclass
class Pair:
    """Both versions of a job."""

    paths: tuple[Path, Path]
    versions: Sequence["Version | OtherProcess"]
    kafka: str
    folder: Path
    again: Callable[[], Sequence["Version | OtherProcess"]] | None = None
    """Starts both versions in new processes. If it is None, the versions run in this process and are not killed."""
    numbers: tuple[int, int] = (0, 0)
    """The number of the compared query in each version."""
    targets: tuple[str, str] = ("", "")
    """The topics to which these queries write their results."""
    readers: dict[str, Consumer] = field(default_factory=dict)
    """The reader of each target topic."""

    def both(self, name: str, *arguments: Any) -> tuple[Any, Any]:
        """
        Call the same method of both versions.

        If they run in their own processes, both calls run at the same time.
        """
        with ThreadPoolExecutor(2 if self.again else 1) as pool:
            calls = [pool.submit(version.call, name, *arguments) for version in self.versions]
            # If both fail, only the first error is reported.
            return calls[OLD].result(), calls[NEW].result()

    def choose(self, numbers: tuple[int, int], samples: Mapping[str, list[Sent]]) -> tuple[Facts, Facts]:
        """Prepare the query with the given number in each version, and return the facts about both queries."""
        self.numbers = numbers
        old, new = (v.call("choose", n, samples) for v, n in zip(self.versions, numbers, strict=True))
        self.targets = (old.target, new.target)
        return old, new

    def run(self, batches: Sequence[Batch], stop_after: int = -1) -> Outcome:
        """Run a schedule on new checkpoints. After batch number `stop_after`, restart both versions."""
        path, errors, parts = self._begin(), ["", ""], list[Results]()
        try:
            for number, batch in enumerate(batches):
                if batch.is_last and not parts:
                    parts.append(self._taken())
                self._commit(self.versions[NEW].call("send", batch), errors)
                if any(errors):
                    break
                if number == stop_after:
                    self.both("stop")
                    self.both("start", path)
        finally:
            self.both("stop")
        parts.append(self._taken())
        return Outcome(_joined(parts), parts[-1][NEW] if len(parts) > 1 else [], (errors[OLD], errors[NEW]))

    def kill(self, batches: Sequence[Batch]) -> Results:
        """Run a schedule. Kill both processes before they commit the middle batch, and start both versions again."""
        if self.again is None:
            raise AssertionError("internal error: the versions run in this process, so they cannot be killed")
        path, errors, middle = self._begin(), ["", ""], len(batches) // 2 - 1
        for batch in batches[:middle]:
            self._commit(self.versions[NEW].call("send", batch), errors)
        parts, ends = [self._taken()], self.versions[NEW].call("send", batches[middle])
        with ThreadPoolExecutor(1) as pool:
            committing = pool.submit(self.versions[OLD].call, "commit", ends)

            def is_written() -> bool:
                parts.append(self._taken())
                old, new = _joined(parts[1:])
                return bool(new) and (bool(old) or committing.done())

            with contextlib.suppress(TimeoutError):
                wait_until(is_written, KILL_SECONDS, "results before the kill")
            for version in self.versions:
                version.kill()
            with contextlib.suppress(RuntimeError):
                committing.result()
        parts.append(self._taken())
        self.versions = self.again()
        self.both("record")
        self.choose(self.numbers, {})
        self.both("start", path)
        self._commit(ends, errors)
        for batch in batches[middle + 1 :]:
            ends |= self.versions[NEW].call("send", batch)
            self._commit(ends, errors)
        self.both("stop")
        if any(errors):
            raise VersionError(errors[OLD] or errors[NEW])
        return _joined([*parts, self._taken()])

    def _begin(self) -> str:
        """Delete all records, start both versions on new checkpoints, and return the common path of the checkpoints."""
        self.versions[NEW].call("forget")
        self._taken()
        path = str(self.folder / uuid.uuid4().hex[:8])
        self.both("start", path)
        return path

    def _commit(self, ends: dict[tuple[str, int], int], errors: list[str]) -> None:
        """Make both versions commit all records at the same time, and store the errors of the versions in `errors`."""

        def call(number: int) -> None:
            try:
                self.versions[number].call("commit", ends)
            except VersionError as error:
                errors[number] = str(error)

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(call, (OLD, NEW)))

    def _taken(self) -> Results:
        """Return the results that both versions have written since the last call."""
        return self._read(self.targets[OLD]), self._read(self.targets[NEW])

    def _read(self, target: str) -> list[Received]:
        if target not in self.readers:
            self.readers[target] = consumer_from_start(self.kafka, {target: 1})
        return [received(message) for message in rest_of(self.readers[target])]


def _joined(parts: Sequence[Results]) -> Results:
    return [one for part in parts for one in part[OLD]], [one for part in parts for one in part[NEW]]


@contextlib.contextmanager
def started(jobs: tuple[Job, Job], partitions: int, slots: int, packages: Sequence[str]) -> Iterator[Pair]:
    """Start a broker, and a process with Spark for each version of a job. Yield both versions, the old one first."""
    # Otherwise, both processes would download the jars at the same time.
    package_jars(packages)
    folder = new_folder("prove")
    with running(LocalKafka()) as broker, contextlib.ExitStack() as stack:

        def start() -> list[OtherProcess]:
            versions = list[OtherProcess]()
            for number, job in enumerate(jobs):
                make = partial(_version, broker.bootstrap_servers, job, number, partitions)
                versions.append(other_process(make, job.path, slots, packages, folder))
            for version in versions:
                stack.callback(version.kill)
            for version in versions:
                version.connect()
            return versions

        yield Pair((jobs[OLD].path, jobs[NEW].path), start(), broker.bootstrap_servers, folder, start)


def _version(
    kafka: str, job: Job, number: int, partitions: int, spark: SparkSession, folder: Path
) -> Callable[..., Any]:
    return Version(Bench(spark, kafka, folder), job, number == NEW, partitions).call
