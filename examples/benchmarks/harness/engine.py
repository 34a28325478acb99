"""
What the benchmarks ask of an engine: start in processes of its own, do the work, and say how it fares.

What arrives are fresh topics and a folder; what leaves are process ids, failures, and the progress of batches.
Real-time mode is measured from outside like every other engine, because its own progress carries no latency.

An engine is a function that takes a `Run` and returns a context manager of an `Engine`. It reads the source from the
beginning, and yields when it is up; the harness sends warm-up traffic before it measures.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from examples.benchmarks.harness.workloads import Work
from examples.realtime.slots import wait_until
from examples.services.child import Child, log_tail

CLOCK = "message.timestamp.type"
TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Run:
    """One engine doing one work once, on topics and in a folder that nothing else uses."""

    bootstrap_servers: str
    source: str
    target: str
    rejected: str
    partitions: int
    """Partitions of each topic."""
    work: Work
    folder: Path
    """Empty at first; checkpoints, state and logs go here and are deleted with it."""
    middle: str = ""
    """Topic between the hops of `two hops`."""


@dataclass(frozen=True)
class Engine:
    """A running engine: its processes, and the files to which they write a line of JSON for each finished batch."""

    children: tuple[Child, ...]
    batches: tuple[Path, ...] = ()

    def pids(self) -> list[int]:
        """Return the ids of its processes and of all their children."""
        found = []
        for child in self.children:
            try:
                process = psutil.Process(child.pid)
                found += [process.pid, *(below.pid for below in process.children(recursive=True))]
            except psutil.NoSuchProcess:
                continue
        return found

    def raise_if_failed(self) -> None:
        """Raise RuntimeError with the end of its log when a process of it has ended."""
        for child in self.children:
            if not child.is_running():
                raise RuntimeError(
                    f"{child.name} ended in the middle of a run, so nothing was measured; its output says why. "
                    f"The end of {child.log_path}:\n{log_tail(child.log_path)}"
                )

    def progress(self) -> list[dict[str, Any]]:
        """Return what each process said about its finished batches, oldest first; none if it has no batches."""
        written = [path.read_text().splitlines(keepends=True) for path in self.batches if path.exists()]
        # The last line may be half written.
        return [json.loads(line) for lines in written for line in lines if line.endswith("\n")]


Start = Callable[[Run], AbstractContextManager[Engine]]


@contextmanager
def fresh_run(bootstrap_servers: str, work: Work, partitions: int, folder: Path) -> Iterator[Run]:
    """Create topics whose timestamps are the broker's, assert that they are, and delete them afterwards."""
    # Errors only: when it ends it would report the events that nobody has asked for.
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 3})
    prefix = f"bench-{uuid.uuid4().hex[:8]}"
    topics = [f"{prefix}-{role}" for role in ("in", "out", "rejected", "middle")]
    source, target, rejected, middle = topics
    asked = [NewTopic(topic, partitions, config={CLOCK: "LogAppendTime"}) for topic in topics]
    for created in admin.create_topics(asked, operation_timeout=TIMEOUT_SECONDS).values():
        created.result(TIMEOUT_SECONDS)
    # A created topic reaches the broker's own metadata a moment later.
    wait_until(lambda: admin.list_topics(timeout=TIMEOUT_SECONDS).topics.keys() >= {*topics}, TIMEOUT_SECONDS, "topics")
    try:
        assert_append_time(admin, topics)
        yield Run(bootstrap_servers, source, target, rejected, partitions, work, folder, middle)
    finally:
        for deleted in admin.delete_topics(topics).values():
            deleted.result(TIMEOUT_SECONDS)


def assert_append_time(admin: AdminClient, topics: Iterable[str]) -> None:
    """Raise ValueError for a topic whose timestamps are the senders'."""
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    for resource, described in admin.describe_configs(resources, request_timeout=TIMEOUT_SECONDS).items():
        clock = described.result(TIMEOUT_SECONDS)[CLOCK].value
        if clock != "LogAppendTime":
            raise ValueError(
                f"topic {resource.name!r} has {CLOCK}={clock}, so engine latencies would leave out the way to the "
                f"broker; set LogAppendTime on it"
            )
