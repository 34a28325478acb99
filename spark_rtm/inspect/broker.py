"""Query a Kafka broker for the first and last offsets of partitions. Needs the package `confluent_kafka`."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spark_rtm.inspect.files.folder import LocalFolder, UnreadableError

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient, OffsetSpec

TIMEOUT_SECONDS = 10


@dataclass(frozen=True)
class Partition:
    """The offsets that a broker reports for a partition."""

    first: int
    """Offset of the oldest record that the broker still has."""
    end: int
    newer: int
    """Offset of the first record newer than the requested time, or the end."""


@dataclass(frozen=True)
class Connection:
    """How to connect to Kafka."""

    bootstrap_servers: str
    config: Path | None = None

    def properties(self) -> dict[str, str]:
        """Return the properties of the Kafka client. Raise `UnreadableError` if the file `config` cannot be read."""
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

    `Partition.newer` refers to the time `since_ms`. Raise `UnreadableError` if the broker does not answer.
    """
    try:
        from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415 - local checkpoints need no packages
        from confluent_kafka.admin import AdminClient, OffsetSpec  # noqa: PLC0415
    except ModuleNotFoundError:
        raise UnreadableError(
            "--bootstrap-servers needs the package confluent-kafka; run `pip install confluent-kafka` (extra `kafka`), "
            "or omit the option to inspect only the files"
        ) from None
    specs: list[OffsetSpec] = [OffsetSpec.earliest(), OffsetSpec.latest()]  # type: ignore[no-untyped-call]
    if since_ms is not None:
        specs.append(OffsetSpec.for_timestamp(since_ms))
    try:
        admin = AdminClient({**connection.properties(), "log_level": "0"})
        # Metadata of all topics: a request for one topic could create it.
        known = admin.list_topics(timeout=TIMEOUT_SECONDS).topics
        wanted = [
            TopicPartition(topic, number) for topic in topics if topic in known for number in known[topic].partitions
        ]
        answers = [_offsets(admin, wanted, spec) for spec in specs]
    except KafkaException as error:
        raise UnreadableError(
            f"Kafka at {connection.bootstrap_servers} did not answer within {TIMEOUT_SECONDS} s ({error}); check "
            "--bootstrap-servers, and --command-config for TLS and login, or omit both to inspect only the files"
        ) from None
    found: dict[str, dict[int, Partition]] = {}
    for topic, number in sorted((at.topic, at.partition) for at in wanted):
        first, end, *newer = (answer[topic, number] for answer in answers)
        # The broker returns -1 if no record is newer.
        found.setdefault(topic, {})[number] = Partition(first, end, newer[0] if newer and newer[0] >= 0 else end)
    return found


def _offsets(admin: "AdminClient", wanted: list["TopicPartition"], spec: "OffsetSpec") -> dict[tuple[str, int], int]:
    if not wanted:
        return {}
    futures = admin.list_offsets(dict.fromkeys(wanted, spec), request_timeout=TIMEOUT_SECONDS)
    return {(at.topic, at.partition): int(future.result().offset) for at, future in futures.items()}
