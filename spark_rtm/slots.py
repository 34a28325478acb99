"""Count the task slots of real-time queries from their numbers of partitions, without Spark: `rtm slots`."""

import argparse
import math
import re
import sys
from dataclasses import dataclass

from spark_rtm.text.finding import DATABRICKS, OSS

WHOLE = re.compile("[0-9]{1,9}")
DESCRIPTION = """Count the task slots of queries in real-time mode, whose stages all run at the same time.

exit status:
  0  the slots are enough, or --available is not given
  1  the slots are too few
  2  a usage error"""


@dataclass(frozen=True)
class Query:
    """The partitions of one query."""

    source_partitions: int
    repartitions: tuple[int, ...]
    """Partitions of each `repartition`."""
    shuffle_partitions: int
    stateful_stages: int

    @property
    def slots(self) -> int:
        """The task slots that the query needs."""
        return self.source_partitions + sum(self.repartitions) + self.shuffle_partitions * self.stateful_stages


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    parser.description = DESCRIPTION
    parser.add_argument(
        "--source-partitions", type=_count, required=True, metavar="N", help="partitions of all sources"
    )
    parser.add_argument(
        "--repartition", type=_count, action="append", default=[], metavar="N", help="partitions of a repartition"
    )
    parser.add_argument(
        "--stateful-stages", type=_count, default=0, metavar="N", help="stages with state, such as groupBy (default: 0)"
    )
    parser.add_argument(
        "--shuffle-partitions",
        type=_count,
        default=200,
        metavar="N",
        help="spark.sql.shuffle.partitions (default: 200)",
    )
    parser.add_argument("--queries", type=_count, default=1, metavar="N", help="number of such queries (default: 1)")
    parser.add_argument("--max-partitions", type=_count, metavar="N", help="source option maxPartitions")
    parser.add_argument("--available", type=_count, metavar="N", help="task slots of your cluster")
    parser.add_argument("--engine", choices=(OSS, DATABRICKS), default=OSS, help=f"the engine (default: {OSS})")


def run(options: argparse.Namespace) -> int:
    """Print the number of task slots needed and, with --available, the effect of fewer slots."""
    partitions = options.source_partitions
    if options.max_partitions and options.engine == DATABRICKS:
        partitions = min(partitions, options.max_partitions)
    query = Query(partitions, tuple(options.repartition), options.shuffle_partitions, options.stateful_stages)
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
    print(f"too few: {_consequence(query, options, needed)}", file=sys.stderr)
    return 1


def _consequence(query: Query, options: argparse.Namespace, needed: int) -> str:
    available = options.available
    missing = f"{needed} slots needed, {available} available"
    if options.engine == DATABRICKS:
        return f"{missing}. Databricks does not schedule a query that lacks slots; use a larger cluster"
    remedy = f"use local[{needed}] or more executor cores"
    if query.slots == query.source_partitions:
        return f"{missing}. OSS 4.3.0 never reads {needed - available} source partitions and reports no error; {remedy}"
    fitting = math.floor(available / query.slots)
    return (
        f"{missing}. On OSS 4.3.0, {fitting} of {options.queries} queries fit; "
        f"the next one fails with CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT; {remedy}"
    )


def _count(text: str) -> int:
    if not WHOLE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text[:99]!r} is not a whole number from 0 to 999,999,999")
    return int(text)
