"""
Inspect a streaming query's checkpoint without changing the checkpoint.

`mode` finds the execution mode that wrote the checkpoint. `start` finds the modes in which a query can resume from
the checkpoint. `findings` reports problems.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from spark_rtm.command_line import Argument
from spark_rtm.program import Command

DESCRIPTION = """Read the checkpoint of a streaming query and explain it. Nothing is changed.

exit status:
  0  the checkpoint was inspected and nothing is wrong
  1  the checkpoint was inspected and something is wrong (a line that begins with `problem`)
  2  the folder is not a checkpoint, is damaged or cannot be read, or a usage error"""


@dataclass(frozen=True)
class Options:
    """Options for the `inspect` command."""

    checkpoint: Annotated[str, Argument(is_positional=True)]
    """Value of checkpointLocation: a folder, or a URL that fsspec supports, such as s3://bucket/path."""
    bootstrap_servers: Annotated[str | None, Argument("HOST:PORT")] = None
    """Kafka brokers. The report then includes the lag, stuck partitions and the records that a restart repeats."""
    command_config: Annotated[Path | None, Argument("FILE")] = None
    """Kafka client (librdkafka) properties for TLS and authentication, one key=value per line."""
    as_starting_offsets: bool = False
    """Print only the startingOffsets (JSON) from which a new query continues, one line for each Kafka source."""
    format: Literal["text", "json"] = "text"
    """Report format."""


def _run(options: Options) -> int:
    from spark_rtm.inspect.inspection import run  # noqa: PLC0415

    return run(options)


COMMANDS = [
    Command(
        "inspect",
        "explain the checkpoint of a streaming query without changing it",
        Options,
        _run,
        {
            "inspect checkpoints/clicks": "explain a checkpoint",
            "inspect s3://bucket/clicks --format json": "print the report on a remote checkpoint as JSON",
            "inspect checkpoints/clicks --bootstrap-servers host:9092": "compare with Kafka",
            "inspect checkpoints/clicks --as-starting-offsets": "print the startingOffsets for a new query",
        },
        DESCRIPTION,
    )
]
