"""Run a user's query in real-time mode against a Kafka broker, and report what breaks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from spark_rtm.command_line import Argument
from spark_rtm.program import Command
from spark_rtm.text.finding import STYLES

DESCRIPTION = """Run a function in real-time mode on a local Kafka broker, and report what breaks.

FUNCTION takes a streaming DataFrame of Kafka source rows and returns one of Kafka sink rows. Its other parameters
receive static DataFrames of Kafka source rows. A file without FUNCTION is run until it waits for its queries.
All files are written to a temporary folder, which is deleted.

exit status:
  0  all verdicts are good; with --against, the results are the same
  1  something is wrong, or the results differ
  2  something was not checked or is not comparable, or a usage error"""


@dataclass(frozen=True)
class Arguments:
    """Unparsed options of the `prove` command."""

    target: Annotated[str, Argument("TARGET", is_positional=True)]
    """A function, as path/job.py:FUNCTION or package.module:FUNCTION, or a job, as path/job.py."""
    samples: Annotated[tuple[str, ...], Argument("NAME=FILE", is_repeated=True)] = ()
    """Records for FUNCTION's parameter NAME or for a job's topic NAME, one JSON object per line.
    {"key": ..., "value": ...} adds a key (default: records generated from the from_json schema)."""
    expect: Annotated[Path | None, Argument("FILE")] = None
    """Output expected for the samples, in any order."""
    topics: Annotated[str, Argument("A,B")] = ""
    """Topics that exist in production. Other topics that the job uses are reported as missing."""
    side_effects: bool = False
    """Also run the job's Spark writes to targets other than Kafka, each time `prove` executes the job's code.
    The job's plain Python code always runs with your permissions."""
    only: Annotated[str, Argument("A,B")] = ""
    """Run only these checks, such as input,state (default: all)."""
    query: Annotated[str, Argument("LINE|NAME")] = ""
    """Check only the query with this name, or the query that starts on this line."""
    against: Annotated[str, Argument("OLD")] = ""
    """Compare the results of the job with those of its micro-batch version OLD, a file, on the same records, instead of
    running the checks."""
    old_conf: Annotated[tuple[str, ...], Argument("KEY=VALUE", is_repeated=True)] = ()
    """A setting of OLD only, such as spark.sql.ansi.enabled=false for a job of Spark 3; may be repeated."""
    key: Annotated[str, Argument("A,B")] = ""
    """Columns of the results that name the key, for --against (default: the grouping columns)."""
    seed: int = 1
    """Seed of the first of three schedules of --against."""
    partitions: int = 2
    """Number of source partitions."""
    slots: int = 0
    """Number of task slots on your cluster (0 means 16)."""
    duration: float = 10
    """Duration of the load in seconds."""
    rate: float = 50
    """Records per second."""
    conf: Annotated[tuple[str, ...], Argument("KEY=VALUE", is_repeated=True)] = ()
    """Spark setting of the job. Repeat the option for each setting."""
    packages: Annotated[str, Argument("G:A:V,...")] = ""
    """Maven packages of the job, as for spark-submit."""
    format: Annotated[str, Argument(choices=STYLES)] = "text"
    """Format of the findings."""
    of_job: Annotated[tuple[str, ...], Argument(is_rest=True)] = ()
    """The arguments of a job, after `--`."""


def _run(arguments: Arguments) -> int:
    from spark_rtm.prove.command import run  # noqa: PLC0415

    return run(arguments)


COMMANDS = [
    Command(
        "prove",
        "run a function in real-time mode on a local broker and report problems",
        Arguments,
        _run,
        {
            "prove job.py:transform": "run the function and report what breaks",
            "prove job.py": "examine the queries that the unmodified job starts",
            "prove --samples payments=payments.jsonl job.py:transform": "use your own records",
            "prove new.py --against old.py": "compare a migrated job with its micro-batch version",
        },
        DESCRIPTION,
        note="the job's arguments follow `--`: prove job.py -- --brokers x",
        extra="prove",
    )
]
