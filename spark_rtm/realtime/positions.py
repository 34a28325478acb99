"""
Derive a new query's starting offsets from an old checkpoint, so that no record is lost.

Real-time mode rejects most checkpoints of other modes, but their offsets are JSON files that remain valid. This module
reads local files. If the checkpoint is in an object store, first copy its `commits`, `offsets` and `sources` folders to
a local folder.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

Offsets = dict[str, dict[str, int]]
"""Each partition's next offset, by topic and partition number."""

FORMAT = "v1"
NO_BATCH = -1
FIRST_RECORD = -2
"""Special offset that the Kafka source replaces with a partition's earliest offset."""


@dataclass(frozen=True)
class Position:
    """A query's last committed batch, and the next batch's start offsets."""

    batch_id: int
    """Id of the last committed batch, or `NO_BATCH` before the first commit."""
    sources: tuple[Offsets, ...]
    """Offsets of each Kafka source, in query order."""

    def starting_offsets(self, partitions: Mapping[str, int], source: int = 0) -> str:
        """
        Return the `startingOffsets` option for a new query.

        `partitions` maps each topic of the new query to its current number of partitions. A partition without an offset
        was added after the last commit, so the new query reads the partition from its first record.
        """
        offsets = self.sources[source]
        for topic, found in offsets.items():
            count = partitions.get(topic, 0)
            unknown = sorted(int(partition) for partition in found if int(partition) >= count)
            if unknown:
                raise ValueError(
                    f"the checkpoint has offsets for partitions {unknown} of topic {topic!r}, but `partitions` sets "
                    f"{count} partitions for this topic, so records in partitions {unknown} would be skipped; if the "
                    f"topic was recreated, start at 'earliest', otherwise correct `partitions`"
                )
        every = {
            topic: {str(partition): offsets.get(topic, {}).get(str(partition), FIRST_RECORD) for partition in range(n)}
            for topic, n in partitions.items()
        }
        return json.dumps(every)


def committed_position(checkpoint: Path) -> Position:
    """
    Return the position after the last committed batch of a query that reads only Kafka.

    Planned batches without a commit are ignored, so the new query reads their records again. If no batch is committed,
    the position contains the query's first offsets.
    """
    batches = _entries(checkpoint / "offsets") & _entries(checkpoint / "commits")
    if batches:
        newest = max(batches)
        lines = _lines(checkpoint / "offsets" / str(newest))
        # The first line is JSON with the query's settings. Each other line contains one source's offsets.
        return Position(newest, tuple(_offsets(line, checkpoint) for line in lines[1:]))
    starts = sorted((checkpoint / "sources").glob("*/0"), key=lambda path: int(path.parent.name))
    if not starts:
        raise ValueError(
            f"checkpoint {str(checkpoint)!r} contains neither a commit nor a first position, so its query has read "
            f"nothing; check the path, or give the new query the `startingOffsets` of the old one"
        )
    return Position(NO_BATCH, tuple(_offsets(_lines(start)[0], checkpoint) for start in starts))


def _entries(log: Path) -> set[int]:
    return {int(file.name) for file in log.glob("[0-9]*") if file.name.isdecimal()}


def _lines(file: Path) -> list[str]:
    # A file in `sources/` begins with a zero byte.
    version, *lines = file.read_text(encoding="utf-8").lstrip("\0").splitlines()
    if version != FORMAT:
        raise ValueError(
            f"{str(file)!r} has format {version!r}, but this module reads only {FORMAT!r}; copy its offsets into "
            "startingOffsets by hand"
        )
    return lines


def _offsets(line: str, checkpoint: Path) -> Offsets:
    try:
        offsets: Offsets = json.loads(line)
        return {topic: {p: int(offset) for p, offset in of_topic.items()} for topic, of_topic in offsets.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"checkpoint {str(checkpoint)!r} contains {line!r}, which are not the offsets of a Kafka source, so "
            f"`startingOffsets` cannot be derived from them; use the checkpoint of a query that reads only Kafka"
        ) from error
