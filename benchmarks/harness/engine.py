"""
Interface of a benchmarked engine, which runs in separate processes and reports the progress of its batches.

The harness measures latency outside the engine, because progress reports of real-time mode on OSS 4.3.0 contain no
latencies.
"""

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient

from benchmarks.harness.workloads import Shape, Workload
from spark_rtm.kafka.topics import ensure_topics, require_append_time
from spark_rtm.services.child import Child, log_tail

TIMEOUT_SECONDS = 30
DEFAULT_SHAPE = Shape()


@dataclass(frozen=True)
class Run:
    """One run of one engine, with its own topics and folder."""

    bootstrap_servers: str
    source: str
    target: str
    rejected: str
    partitions: int
    workload: Workload
    folder: Path
    """Folder for checkpoints, state and logs. The folder is empty at the start and is deleted after the run."""
    middle: str = ""
    """Topic between the two queries of the `two hops` workload."""
    shape: Shape = DEFAULT_SHAPE


@dataclass(frozen=True)
class Engine:
    """A running engine: its processes, and the files with one line of JSON per finished batch."""

    children: tuple[Child, ...]
    batches: tuple[Path, ...] = ()

    def pids(self) -> list[int]:
        """Return the ids of the engine's processes, without their descendants."""
        return [child.pid for child in self.children]

    def raise_if_failed(self) -> None:
        """Raise RuntimeError with the end of the log if one of the engine's processes has exited."""
        for child in self.children:
            if not child.is_running():
                raise RuntimeError(
                    f"{child.name} exited during a run, so nothing was measured; its log shows the reason. "
                    f"Last lines of {child.log_path}:\n{log_tail(child.log_path)}"
                )

    def progress(self) -> list[dict[str, Any]]:
        """Return the progress of all finished batches, oldest first. It is empty for an engine without batches."""
        lines = [
            line
            for path in self.batches
            if path.exists()
            for line in path.read_text().splitlines(keepends=True)
            # The last line may be incomplete.
            if line.endswith("\n")
        ]
        return [json.loads(line) for line in lines]


Start = Callable[[Run], AbstractContextManager[Engine]]


@contextmanager
def fresh_run(
    bootstrap_servers: str, workload: Workload, partitions: int, folder: Path, shape: Shape = DEFAULT_SHAPE
) -> Iterator[Run]:
    """Create a run's topics, check that they store append times, and delete them at the end of the block."""
    prefix = f"bench-{uuid.uuid4().hex[:8]}"
    topics = [f"{prefix}-{role}" for role in ("in", "out", "rejected", "middle")]
    source, target, rejected, middle = topics
    ensure_topics(bootstrap_servers, topics, partitions)
    try:
        require_append_time(bootstrap_servers, topics, "delete the topic and start again")
        yield Run(bootstrap_servers, source, target, rejected, partitions, workload, folder, middle, shape)
    finally:
        # The client logs only errors. Otherwise, the client would log events without a request when it ends.
        admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 3})
        # Engines name internal topics after their consumer group, and the group has the name of the source topic.
        internal = [topic for topic in admin.list_topics(timeout=TIMEOUT_SECONDS).topics if source in topic]
        for deleted in admin.delete_topics([*{*topics, *internal}]).values():
            deleted.result(TIMEOUT_SECONDS)
