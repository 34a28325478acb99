"""
Check whether a machine, a Kafka cluster and a checkpoint are ready for a real-time job: `rtm doctor`.

The command runs no code of the job, changes nothing, and prints no passwords.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from spark_rtm.command_line import Argument, whole_number
from spark_rtm.program import Command

VARIABLES = {
    "KAFKA_BOOTSTRAP_SERVERS": "kafka.bootstrap.servers",
    "CHECKPOINTS": "checkpointLocation",
    "SPARK_MASTER": "spark.master",
}
"""Environment variables, and the options that they set."""

DESCRIPTION = f"""Check whether this machine, a Kafka cluster, topics and a checkpoint are ready for a real-time job.
The command runs no code of the job, changes nothing, and prints no passwords.

A file contains options and session settings of the job, one NAME=VALUE or NAME VALUE per line: the Kafka options
of the source and the sink (such as kafka.bootstrap.servers), subscribe, topic, checkpointLocation, and settings of
Spark. Client properties without the prefix kafka. and the Spark config of a Databricks cluster are also valid.
These environment variables set the options that the files lack: {", ".join(VARIABLES)},
KAFKA_TRUSTSTORE, and KAFKA_KEYSTORE or KAFKA_USER with KAFKA_PASSWORD and KAFKA_MECHANISM (PLAIN).

exit status:
  0  no problem was found; a check without an input is skipped and says so
  1  a problem was found
  2  a file cannot be read, or a usage error"""


@dataclass(frozen=True)
class Options:
    """Options of the `doctor` command."""

    files: Annotated[tuple[Path, ...], Argument(is_positional=True)] = ()
    """Files with options and settings of the job. A later file overrides an earlier one."""
    source: Annotated[tuple[str, ...], Argument("TOPIC")] = ()
    """Source topics (default: the option subscribe)."""
    target: Annotated[tuple[str, ...], Argument("TOPIC")] = ()
    """Target topics, including reject topics (default: the option topic)."""
    stateful_stages: Annotated[int, Argument("N", whole_number(0))] = 0
    """Number of stateful stages of the query, such as groupBy."""
    available: Annotated[int | None, Argument("N", whole_number(0))] = None
    """Number of task slots (default: computed from spark.master or the executors' settings)."""
    checkpoint: Annotated[str | None, Argument("FOLDER")] = None
    """Checkpoint, or a folder of checkpoints (default: the option checkpointLocation)."""
    json: bool = False
    """Print the results as JSON."""


def _run(options: Options) -> int:
    from spark_rtm.doctor.command import run  # noqa: PLC0415

    return run(options)


COMMANDS = [
    Command(
        "doctor",
        "check whether a machine, a Kafka cluster and a checkpoint are ready for a real-time job",
        Options,
        _run,
        {
            "doctor": "check Java, PySpark and what the environment variables name",
            "doctor job.properties --source clicks": "also check the options in a file and the topic clicks",
            "doctor job.properties --json": "print the results for a program or a bug report",
        },
        DESCRIPTION,
    )
]
