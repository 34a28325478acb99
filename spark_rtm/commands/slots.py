"""Compute the task slots that real-time queries need from their partition counts: `rtm slots`."""

import math
import sys
from dataclasses import dataclass
from typing import Annotated

from spark_rtm.command_line import Argument, whole_number
from spark_rtm.program import Command
from spark_rtm.text.finding import DATABRICKS, ENGINES, OSS

COUNT = Argument("N", whole_number(0))
DESCRIPTION = """Count the task slots that real-time queries need. All stages of a real-time query run at the same time.

exit status:
  0  enough slots are available, or --available is not given
  1  too few slots are available
  2  a usage error"""


@dataclass(frozen=True)
class Query:
    """The partition counts of one query."""

    source_partitions: int
    repartitions: tuple[int, ...]
    """Partition count of each `repartition`."""
    shuffle_partitions: int
    stateful_stages: int

    @property
    def slots(self) -> int:
        """The number of task slots that the query needs."""
        return self.source_partitions + sum(self.repartitions) + self.shuffle_partitions * self.stateful_stages


@dataclass(frozen=True)
class Options:
    """Options for the `slots` command."""

    source_partitions: Annotated[int, COUNT]
    """Total number of source partitions."""
    repartition: Annotated[tuple[int, ...], Argument("N", whole_number(0), is_repeated=True)] = ()
    """Number of partitions of a `repartition` call. Repeat the option for each call."""
    stateful_stages: Annotated[int, COUNT] = 0
    """Number of stateful stages, such as groupBy."""
    shuffle_partitions: Annotated[int, COUNT] = 200
    """Value of spark.sql.shuffle.partitions."""
    queries: Annotated[int, COUNT] = 1
    """Number of queries of this form."""
    max_partitions: Annotated[int | None, COUNT] = None
    """Value of the maxPartitions source option."""
    available: Annotated[int | None, COUNT] = None
    """Number of task slots on your cluster."""
    engine: Annotated[str, Argument(choices=ENGINES)] = OSS
    """The engine."""


def run(options: Options) -> int:
    """Print the number of task slots needed and, with --available, the effect of fewer slots."""
    partitions = options.source_partitions
    if options.max_partitions and options.engine == DATABRICKS:
        partitions = min(partitions, options.max_partitions)
    query = Query(partitions, options.repartition, options.shuffle_partitions, options.stateful_stages)
    needed = options.queries * query.slots
    state = query.shuffle_partitions * query.stateful_stages
    factor = f"{options.queries} x " if options.queries > 1 else ""
    print(
        f"{needed} task slots = {factor}({partitions} source + {sum(query.repartitions)} repartition + {state} state)"
    )
    if options.max_partitions and options.engine == OSS:
        print("maxPartitions has no effect on OSS 4.3.0")
    if options.available is None or options.available >= needed:
        return 0
    print(f"too few: {_consequence(query, options, needed, options.available)}", file=sys.stderr)
    return 1


def _consequence(query: Query, options: Options, needed: int, available: int) -> str:
    missing = f"{needed} slots needed, {available} available"
    if options.engine == DATABRICKS:
        return f"{missing}. Databricks does not schedule a query that lacks slots; use a larger cluster"
    remedy = f"use local[{needed}] or more executor cores"
    if query.slots == query.source_partitions:
        return f"{missing}. OSS 4.3.0 never reads {needed - available} source partitions and reports no error; {remedy}"
    fitting = math.floor(available / query.slots)
    return (
        f"{missing}. On OSS 4.3.0, {fitting} of {options.queries} queries fit; "
        f"the next query fails with CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT; {remedy}"
    )


COMMANDS = [
    Command(
        "slots",
        "count the task slots that queries need",
        Options,
        run,
        {
            "slots --source-partitions 8 --stateful-stages 1": "count the slots of an aggregation",
            "slots --source-partitions 8 --available 4": "show the effect of too few slots",
        },
        DESCRIPTION,
    )
]
