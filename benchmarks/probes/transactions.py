"""
Read the records of a topic with their transactions from the files of a local broker.

No consumer shows the producer of a record, or how its transaction ended.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from spark_rtm.services.kafka import LocalKafka

BATCH = struct.Struct(">qiibIhiqqqhii")
"""The header of a batch in Kafka's format 2, up to the number of records."""
CONTROL, COMPRESSION = 0x20, 0x07
ENDS = {0: "ABORT", 1: "COMMIT"}


@dataclass
class Copy:
    """One record of a topic."""

    place: str
    """Topic, partition and offset."""
    key: bytes
    value: bytes
    producer: int
    is_control: bool
    transactional_id: str = ""
    end: str = "OPEN"
    """`COMMIT` or `ABORT` if the transaction has ended."""


def copies_of(broker: LocalKafka, topic: str) -> list[Copy]:
    """Return all records of a topic, including those of aborted and open transactions."""
    states = [one for number in _partitions(broker, "__transaction_state") for one in _records(number)]
    # Both formats of the state begin with a version. The id has a length of two bytes.
    ids = {int.from_bytes(one.value[2:10]): one.key[4:].decode() for one in states if one.value}
    found = list[Copy]()
    for folder in _partitions(broker, topic):
        running = defaultdict[int, list[Copy]](list)
        for copy in _records(folder):
            if copy.is_control:
                for one in running.pop(copy.producer, ()):
                    one.end = ENDS[int.from_bytes(copy.key[2:4])]
            else:
                copy.transactional_id = ids.get(copy.producer, "")
                running[copy.producer].append(copy)
                found.append(copy)
    return found


def _partitions(broker: LocalKafka, topic: str) -> list[Path]:
    return sorted((broker.folder / "data").glob(f"{topic}-[0-9]*"))


def _records(partition: Path) -> Iterator[Copy]:
    for path in sorted(partition.glob("*.log")):
        data, position = path.read_bytes(), 0
        while len(data) - position >= BATCH.size:
            first, length, *_, attributes, _, _, _, producer, _, _, count = BATCH.unpack_from(data, position)
            if attributes & COMPRESSION:
                raise ValueError(f"{path} contains compressed records; read a topic whose producers do not compress")
            content = BytesIO(data[position + BATCH.size : position + length + 12])
            for _ in range(count):
                record = BytesIO(content.read(_number(content)))
                record.read(1)
                _number(record)
                offset = first + _number(record)
                key, value = record.read(max(_number(record), 0)), record.read(max(_number(record), 0))
                yield Copy(f"{partition.name}:{offset}", key, value, producer, bool(attributes & CONTROL))
            position += length + 12


def _number(data: BytesIO) -> int:
    """Read a zigzag number of variable length."""
    value = shift = 0
    while True:
        byte = data.read(1)[0]
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)
