"""
Report each source's committed offsets, the broker's offsets and the records that a restart replays.

`spark_rtm/realtime/positions.py` reads only undamaged local checkpoints and returns only a new query's starting
offsets. This command also reads damaged checkpoints and object stores. Querying the broker requires the
`confluent_kafka` package.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_rtm.inspect.files.content import Checkpoint
from spark_rtm.inspect.files.folder import LocalFolder, UnreadableError
from spark_rtm.inspect.files.logs import MAX_LONG, NUMBER, Planned
from spark_rtm.inspect.mode import MICRO_BATCH
from spark_rtm.inspect.report import PartitionState, Replay, Source

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient, OffsetSpec

TIMEOUT_SECONDS = 10


@dataclass(frozen=True)
class Partition:
    """A partition's offsets, as reported by the broker."""

    first: int
    """Offset of the oldest record in the partition."""
    end: int
    newer: int
    """Offset of the first record newer than the requested time, or else the end offset."""


Broker = Mapping[str, Mapping[int, Partition]]
"""The broker's partitions, by topic and partition number."""
Offsets = Mapping[str, Mapping[str, int]]
"""A checkpoint's Kafka offsets, by topic and by partition number as a string."""


@dataclass(frozen=True)
class Connection:
    """The connection settings for Kafka."""

    bootstrap_servers: str
    config: Path | None = None

    def properties(self) -> dict[str, str]:
        """Return the Kafka client properties. Raise `UnreadableError` if the `config` file is unreadable."""
        try:
            content = LocalFolder(self.config.resolve().parent).read(self.config.resolve().name) if self.config else b""
            lines = content.decode().splitlines()
        except (OSError, UnicodeDecodeError, UnreadableError) as error:
            raise UnreadableError(f"cannot read --command-config {self.config}: {error}; check the path") from None
        pairs = [line.partition("=") for line in lines if line.strip() and not line.lstrip().startswith("#")]
        return {key.strip(): value.strip() for key, _, value in pairs} | {"bootstrap.servers": self.bootstrap_servers}


def partitions_of(
    connection: Connection, topics: Iterable[str], since_ms: int | None
) -> dict[str, dict[int, Partition]]:
    """
    Return the partitions of each existing topic, keyed by topic and partition number.

    `Partition.newer` refers to the time `since_ms`. Raises `UnreadableError` if the broker does not respond.
    """
    try:
        from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415 - local checkpoints need no packages
        from confluent_kafka.admin import AdminClient, OffsetSpec  # noqa: PLC0415
    except ModuleNotFoundError:
        raise UnreadableError(
            "--bootstrap-servers needs the confluent-kafka package; run `pip install confluent-kafka` (extra `kafka`), "
            "or omit the option to inspect only the files"
        ) from None
    specs: list[OffsetSpec] = [OffsetSpec.earliest(), OffsetSpec.latest()]  # type: ignore[no-untyped-call]
    if since_ms is not None:
        specs.append(OffsetSpec.for_timestamp(since_ms))
    try:
        admin = AdminClient({**connection.properties(), "log_level": "0"})
        # Request metadata for all topics, because a request for a single topic could create the topic.
        known = topics_of(admin, TIMEOUT_SECONDS)
        wanted = [
            TopicPartition(topic, number) for topic in topics if topic in known for number in known[topic].partitions
        ]
        answers = [_offsets(admin, wanted, spec) for spec in specs]
    except KafkaException as error:
        raise UnreadableError(
            f"Kafka at {connection.bootstrap_servers} did not respond within {TIMEOUT_SECONDS} s ({error}); check "
            "--bootstrap-servers, and --command-config for TLS and login, or omit both to inspect only the files"
        ) from None
    found: dict[str, dict[int, Partition]] = {}
    for topic, number in sorted((at.topic, at.partition) for at in wanted):
        first, end, *newer = (answer[topic, number] for answer in answers)
        # The broker returns -1 if no record is newer.
        found.setdefault(topic, {})[number] = Partition(first, end, newer[0] if newer and newer[0] >= 0 else end)
    return found


def topics_of(admin: "AdminClient", seconds: float, is_final: Callable[[], bool] = lambda: False) -> Mapping[str, Any]:
    """
    Return the cluster's topics by name. Ctrl-C ends the wait within a second.

    Raises KafkaException after `seconds`, or as soon as an attempt fails and `is_final` returns True.
    """
    from confluent_kafka import KafkaException  # noqa: PLC0415

    end = time.monotonic() + seconds
    while True:
        try:
            # A short call, because Ctrl-C does not end it.
            return admin.list_topics(timeout=min(1, seconds)).topics
        except KafkaException:
            admin.poll(0)  # calls the client's error callback
            if time.monotonic() > end or is_final():
                raise


def _offsets(admin: "AdminClient", wanted: list["TopicPartition"], spec: "OffsetSpec") -> dict[tuple[str, int], int]:
    if not wanted:
        return {}
    futures = admin.list_offsets(dict.fromkeys(wanted, spec), request_timeout=TIMEOUT_SECONDS)
    return {(at.topic, at.partition): int(future.result().offset) for at, future in futures.items()}


def kafka_offsets(value: Any) -> Offsets | None:
    """Return `value` if it consists of Kafka offsets, else None."""
    is_kafka = isinstance(value, dict) and all(
        isinstance(numbers, dict) and all(map(_is_offset, numbers, numbers.values())) for numbers in value.values()
    )
    return value if is_kafka else None


def _is_offset(partition: str, offset: object) -> bool:
    return bool(NUMBER.fullmatch(partition)) and type(offset) is int and abs(offset) <= MAX_LONG


def sources_of(checkpoint: Checkpoint, known: Broker | None) -> list[Source]:
    """Return a query's sources. `known` contains the broker's partitions, or is None without a broker."""
    planned, position = checkpoint.last_planned, checkpoint.position
    found = []
    for name, end in (planned.sources if planned else {}).items():
        committed = position.sources.get(name) if position else None
        example = next(
            (each for each in (end, committed, checkpoint.first_offsets.get(name)) if each is not None), None
        )
        if kafka_offsets(example) is None:
            found.append(Source(name, is_kafka=False, partitions=(), offsets=committed if position else end))
        else:
            states = _partitions(checkpoint, name, kafka_offsets(committed) or {}, kafka_offsets(end) or {}, known)
            found.append(Source(name, is_kafka=True, partitions=tuple(states)))
    return found


def _partitions(
    checkpoint: Checkpoint, source: str, committed: Offsets, planned: Offsets, known: Broker | None
) -> list[PartitionState]:
    states = []
    for topic in sorted({*committed, *planned}):
        there = (known or {}).get(topic, {})
        names = {*committed.get(topic, {}), *planned.get(topic, {}), *map(str, there)}
        for name in sorted(names, key=int):
            at, ends = committed.get(topic, {}).get(name), there.get(int(name))
            state = PartitionState(topic, int(name), at, planned.get(topic, {}).get(name))
            if ends:
                is_stuck = at is not None and ends.newer > at and not _moved(checkpoint, source, topic, name)
                lag = max(0, ends.end - max(at or 0, ends.first))
                state = replace(state, first=ends.first, end=ends.end, lag=lag, is_stuck=is_stuck)
            states.append(state)
    return states


def _moved(checkpoint: Checkpoint, source: str, topic: str, partition: str) -> bool:
    both = set(checkpoint.planned) & set(checkpoint.committed)
    found = [kafka_offsets(checkpoint.planned[batch].sources.get(source)) or {} for batch in both]
    return len({each[topic][partition] for each in found if partition in each.get(topic, {})}) > 1


def replay_of(checkpoint: Checkpoint, partitions: Sequence[PartitionState], mode: str | None, *, asked: bool) -> Replay:
    """Return the records that a restart replays. `mode` is the last batch's execution mode."""
    planned, committed = checkpoint.last_planned, checkpoint.last_committed
    if planned and (committed is None or planned.batch > committed.batch):
        return Replay(_between(checkpoint, planned), f"of batch {planned.batch}, which is planned but not committed")
    if mode == MICRO_BATCH:
        return Replay(0, "because the last planned batch is committed")
    if not asked:
        return Replay(None, "that were processed after the last commit; --bootstrap-servers counts them")
    lag = sum(each.lag or 0 for each in partitions)
    return Replay(lag, "at most the records that were processed after the last commit")


def _between(checkpoint: Checkpoint, planned: Planned) -> int | None:
    begin = checkpoint.position.sources if checkpoint.position else checkpoint.first_offsets
    total = 0
    for source, value in planned.sources.items():
        start, end = kafka_offsets(begin.get(source)), kafka_offsets(value)
        if value is not None and (start is None or end is None):
            return None
        for topic, numbers in (end or {}).items():
            total += sum(at - (start or {}).get(topic, {}).get(name, 0) for name, at in numbers.items())
    return total
