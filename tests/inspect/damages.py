"""Damage to checkpoints with three committed batches, and the kinds of checkpoints to which each damage applies."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], object]
TEMPORARY = "0f8fad5b-d9cb-469f-a165-70867728950e.tmp"


def delete(*patterns: str) -> Damage:
    def damage(checkpoint: Path) -> None:
        for pattern in patterns:
            found = [*checkpoint.glob(pattern)]
            assert found, pattern
            for path in found:
                path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


def edit(pattern: str, change: Callable[[bytes], bytes], *, checksum: bool = False) -> Damage:
    """Return a function that changes each matching file, and keeps or deletes its checksum file."""

    def damage(checkpoint: Path) -> None:
        found = [*checkpoint.glob(pattern)]
        assert found, pattern
        for path in found:
            path.write_bytes(change(path.read_bytes()))
            if not checksum:
                path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    return damage


def add(path: str, content: bytes = b"x") -> Damage:
    def damage(checkpoint: Path) -> None:
        (checkpoint / path).parent.mkdir(exist_ok=True)
        (checkpoint / path).write_bytes(content)

    return damage


def copy(source: str, *targets: str) -> Damage:
    return lambda checkpoint: [shutil.copy(checkpoint / source, checkpoint / target) for target in targets]


def both(*damages: Damage) -> Damage:
    return lambda checkpoint: [damage(checkpoint) for damage in damages]


def to(content: bytes) -> Callable[[bytes], bytes]:
    return lambda _: content


def swap(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        assert re.search(old, content), (old, content)
        return re.sub(old, new, content)

    return change


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def second_source(content: bytes) -> bytes:
    return content + b"\n" + content.split(b"\n")[2]


EMPTY = to(b"")
SPACE = swap(rb"\n", b" \n")
PARTITIONS = rb'(shuffle\.partitions":)"2"'
STATELESS_1, STATELESS = "stateless, format 1", "stateless, real-time"
COUNTS_1, COUNTS_2, COUNTS = "counts, format 1", "counts, format 2", "counts, real-time"
PROCESSOR = "processor, real-time"
ANY = (COUNTS_2,)
LOGS = (STATELESS_1, STATELESS, COUNTS_2, COUNTS)
STATEFUL = (COUNTS_1, COUNTS_2, COUNTS, PROCESSOR)
STATES = (COUNTS_1, COUNTS_2, PROCESSOR)
ROCKSDB = (COUNTS_2, PROCESSOR)
BEGUN = delete("offsets/[12]", "commits/[0-9]")
"""Only the offsets of batch 0 are left, as if the query had ended before its first commit."""

DAMAGES: dict[str, tuple[tuple[str, ...], Damage]] = {
    "nothing": ((*LOGS, COUNTS_1, PROCESSOR), lambda _: None),
    "metadata missing": (ANY, delete("metadata")),
    "metadata empty": (ANY, edit("metadata", EMPTY)),
    "metadata is no JSON": (ANY, edit("metadata", to(b"{id"))),
    "metadata without id": (ANY, edit("metadata", to(b"{}"))),
    "metadata of another program": (ANY, edit("metadata", to(b'{"id":"clicks"}'))),
    "metadata edited": (ANY, edit("metadata", swap(b"{", b"{ "), checksum=True)),
    "all checksums missing": (ANY, delete("**/.*.crc")),
    "offsets missing": (LOGS, delete("offsets")),
    "last offsets missing": (LOGS, delete("offsets/2")),
    "offsets before the last missing": (LOGS, delete("offsets/1")),
    "first offsets missing": (ANY, delete("offsets/0")),
    "last commit and offsets before it missing": (LOGS, delete("offsets/1", "commits/2")),
    "last offsets empty": (ANY, edit("offsets/2", EMPTY)),
    "last offsets edited": (ANY, edit("offsets/2", SPACE, checksum=True)),
    "last offsets cut": (ANY, edit("offsets/2", lambda content: content[:-3])),
    "last offsets with Windows line ends": (ANY, edit("offsets/2", swap(rb"\n", b"\r\n"))),
    "last offsets of version 0": (ANY, edit("offsets/2", swap(b"v1", b"v0"))),
    "last offsets of version 9": (ANY, edit("offsets/2", swap(b"v1", b"v9"))),
    "last offsets of two sources": (ANY, edit("offsets/2", second_source)),
    "last offsets of another source": (ANY, edit("offsets/2", swap(rb"(\{.*\}\n).*", rb"\g<1>7"))),
    "offsets before the last empty": (ANY, edit("offsets/1", EMPTY)),
    "offsets before the last edited": (ANY, edit("offsets/1", swap(rb'"batch', rb' "batch'), checksum=True)),
    "offsets before the last cut": (ANY, edit("offsets/1", lambda content: content[:-3])),
    "offsets before the last of version 9": (ANY, edit("offsets/1", swap(b"v1", b"v9"))),
    "offsets before the last of two sources": (ANY, edit("offsets/1", second_source)),
    "first offsets empty": (ANY, edit("offsets/0", EMPTY)),
    "batch planned": (LOGS, copy("offsets/2", "offsets/3")),
    "batch planned, empty": (ANY, add("offsets/3", b"")),
    "two batches planned": ((*LOGS, COUNTS_1), copy("offsets/2", "offsets/3", "offsets/4")),
    "batch planned after a gap": (LOGS, copy("offsets/2", "offsets/9")),
    "temporary offsets": (ANY, add(f"offsets/.3.{TEMPORARY}")),
    "number with leading zeros": (ANY, both(add("offsets/007"), add("commits/x"))),
    "number with a sign": (ANY, add("commits/+5")),
    "names without meaning": (
        ANY,
        both(add("offsets/3.compact"), add("offsets/-1"), add("offsets/99999999999999999999")),
    ),
    "commits missing": ((*LOGS, COUNTS_1), delete("commits")),
    "last commit missing": ((*LOGS, COUNTS_1), delete("commits/2")),
    "last two commits missing": ((*LOGS, COUNTS_1), delete("commits/[12]")),
    "earlier commit missing": (ANY, delete("commits/1")),
    "last commit empty": (ANY, edit("commits/2", EMPTY)),
    "last commit edited": (ANY, edit("commits/2", swap(b"{", b"{ "), checksum=True)),
    "last commit cut": (ANY, edit("commits/2", cut)),
    "last commit without content": ((*ANY, COUNTS_1), edit("commits/2", swap(rb"(?s)\n.*", b""))),
    "last commit of version 0": (ANY, edit("commits/2", swap(rb"^v.", b"v0"))),
    "last commit of version 9": (ANY, edit("commits/2", swap(rb"^v.", b"v9"))),
    "last commit with a wrong watermark": (ANY, edit("commits/2", swap(rb'WatermarkMs":0', rb'WatermarkMs":"x"'))),
    "earlier commit empty": (ANY, edit("commits/1", EMPTY)),
    "commit without offsets": (LOGS, copy("commits/2", "commits/3")),
    "temporary commit": (ANY, add(f"commits/.3.{TEMPORARY}")),
    "sources missing": (ANY, delete("sources")),
    "sources empty": (ANY, edit("sources/0/0", EMPTY)),
    "first batch not committed": (LOGS, BEGUN),
    "first batch not committed, sources empty": (LOGS, both(BEGUN, edit("sources/0/0", EMPTY))),
    "first batch not committed, sources missing": (LOGS, both(BEGUN, delete("sources"))),
    "first commit interrupted": (LOGS, both(BEGUN, add(f"commits/.0.{TEMPORARY}"))),
    "first offsets interrupted": (LOGS, both(BEGUN, delete("offsets/0"), add(f"offsets/.0.{TEMPORARY}"))),
    "logs emptied": (LOGS, delete("offsets/[0-9]", "commits/[0-9]")),
    "logs and sources missing": (LOGS, delete("offsets", "commits", "sources")),
    "only the state left": ((COUNTS_2, COUNTS), delete("offsets", "commits", "sources", "metadata")),
    "state missing": ((COUNTS_2, COUNTS, PROCESSOR), delete("state")),
    "operator missing": (STATES, delete("state/0")),
    "partition missing": (STATES, delete("state/0/0")),
    "last changes missing": (STATES, delete("state/0/1/3[._]*")),
    "earlier changes missing": (STATES, delete("state/0/0/2[._]*")),
    "last changes empty": (STATES, edit("state/0/0/3[._]*[!c]", EMPTY, checksum=True)),
    "last changes cut": (STATES, edit("state/0/0/3[._]*[!c]", cut, checksum=True)),
    "earlier changes cut": (STATES, edit("state/0/0/2[._]*[!c]", cut, checksum=True)),
    "checksum of changes cut": (ROCKSDB, edit("state/0/0/3_*.crc", cut)),
    "checksum of changes missing": (ROCKSDB, delete("state/0/0/3_*.crc")),
    "temporary state": (STATES, add(f"state/0/0/.4.{TEMPORARY}")),
    "state of another operator": (STATES, add("state/7/1.delta")),
    "state files of another batch": ((COUNTS_2,), copy("commits/1", "commits/2", "commits/.2.crc")),
    "operator description missing": (STATES, delete("state/0/_metadata")),
    "operator description empty": ((COUNTS_1, COUNTS_2), edit("state/0/_metadata/metadata", EMPTY)),
    "processor description empty": ((PROCESSOR,), edit("state/0/_metadata/v2/*", EMPTY)),
    "processor description edited": ((PROCESSOR,), edit("state/0/_metadata/v2/0", swap(b"{", b"{ "), checksum=True)),
    "schema missing": ((COUNTS_1, COUNTS_2), delete("state/0/0/_metadata/schema")),
    "schema empty": ((COUNTS_1, COUNTS_2), edit("state/0/0/_metadata/schema", EMPTY)),
    "schema of another program": ((COUNTS_1, COUNTS_2), edit("state/0/0/_metadata/schema", to(b"schema"))),
    "processor schema missing": ((PROCESSOR,), delete("state/0/_stateSchema")),
    "more partitions": (STATEFUL, edit("offsets/2", swap(PARTITIONS, rb'\g<1>"3"'))),
    "rewriting stopped": (
        STATEFUL,
        both(copy("offsets/2", "offsets/3"), edit("offsets/3", swap(PARTITIONS, rb'\g<1>"3"'))),
    ),
}
UNSEEN: dict[str, tuple[tuple[str, ...], Damage]] = {
    # The query looks like a stateless one.
    "state missing": ((COUNTS_1,), delete("state")),
    # The start would need the code of the query.
    "other operator": ((COUNTS_2,), edit("state/0/_metadata/metadata", swap(b"stateStoreSave", b"dedupe"))),
    # The size is correct.
    "changes of zeros": ((COUNTS_1, COUNTS_2), edit("state/0/0/3[._]*[!c]", lambda content: bytes(len(content)))),
}
"""Damage that prevents a query from starting, and that `inspect` does not find."""
