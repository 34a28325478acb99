"""
Check that enough task slots are free before queries start.

Real-time mode runs all stages of a query at the same time. With too few slots, a stateful query fails, and a stateless
query silently never reads some partitions (OSS 4.3.0).
"""

import json
import re
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from .proof import REAL_TIME_SCAN, plan_of_frame, plan_of_query
from .queries import wait_until

EXCHANGE = re.compile(r"^(?P<indent>[^A-Za-z]*)(?:\*\(\d+\) )?(?P<node>BroadcastExchange|Exchange) (?P<rest>.*)")
EXCHANGE_PARTITIONS = re.compile(r"^\w+\(.*?(\d+)\), [A-Z_]+(?:, \w+=\w+)*(?:, \[plan_id=\d+\])?$")

# A stopped query's tasks end shortly after `stop()` has returned.
ENDING_SECONDS = 2.0


class NotEnoughSlotsError(RuntimeError):
    """Raised if queries need more task slots than are free."""


def preflight(spark: SparkSession, queries: Mapping[str, tuple[DataFrame, int]], wait_seconds: float = 30) -> int:
    """
    Check that all `queries` can run at the same time, and return the number of task slots that they need.

    `queries` maps each query name to a streaming DataFrame and its number of source partitions.
    On a cluster, the function waits up to `wait_seconds` for executors to register. In local mode, it waits for the
    last tasks of stopped queries.
    Raises `NotEnoughSlotsError` if too few slots are free.
    """
    needs = {name: slots_needed(stream, partitions) for name, (stream, partitions) in queries.items()}
    needed = sum(needs.values())
    is_local = str(spark.sparkContext.master).startswith("local")
    waited = ""
    if is_local:
        wait_seconds = ENDING_SECONDS if needed <= slots_total(spark) else 0
    try:
        wait_until(lambda: slots_free(spark) >= needed, wait_seconds, "executors")
    except TimeoutError as error:
        waited = "" if is_local else f" ({error})"
    free, total = slots_free(spark), slots_total(spark)
    if free < needed:
        parts = ", ".join(f"{name} {need}" for name, need in needs.items())
        raise NotEnoughSlotsError(
            f"the queries need {needed} task slots at the same time ({parts}), but only {free} of {total} are "
            f"free{waited}. A stateless query would never read some partitions, although no error is "
            f"reported. A stateful query would fail with CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT. Use "
            f"local[{needed + total - free}] or more executor cores, or fewer source partitions, or a "
            "smaller spark.sql.shuffle.partitions"
        )
    return needed


def slots_needed(stream: DataFrame, source_partitions: int) -> int:
    """Return `source_partitions` plus the number of partitions of each shuffle and repartition in the plan."""
    return source_partitions + _exchange_partitions(plan_of_frame(stream))


def slots_total(spark: SparkSession) -> int:
    """Return the number of tasks that the session can run at the same time, which Spark also checks."""
    # `defaultParallelism` differs if `spark.default.parallelism` is set.
    context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - PySpark has no public API for the slot count
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def slots_free(spark: SparkSession) -> int:
    """Return the number of task slots that neither running tasks nor this session's active queries use."""
    # Between two batches, a real-time query runs no tasks, but needs its slots again for the next batch.
    claimed = sum(_slots_of(query) for query in spark.streams.active)
    return slots_total(spark) - max(_running_tasks(spark), claimed)


def _running_tasks(spark: SparkSession) -> int:
    # Spark's public status tracker may report a new batch's tasks only after ten seconds.
    scheduler = spark.sparkContext._jsc.sc().taskScheduler()  # noqa: SLF001 - see above
    counts, running = scheduler.runningTasksByExecutors().valuesIterator(), 0
    while counts.hasNext():
        running += counts.next()
    return running


def _exchange_partitions(plan: str) -> int:
    partitions, broadcast_indent = 0, None
    for line in plan.splitlines():
        indent = len(line) - len(line.lstrip(" :+-"))
        if broadcast_indent is not None and indent > broadcast_indent:
            continue  # The static side of a join runs before the stream, so it needs no additional task slots.
        exchange = EXCHANGE.match(line)
        broadcast_indent = indent if exchange and exchange["node"] == "BroadcastExchange" else None
        if exchange and exchange["node"] == "Exchange":
            count = EXCHANGE_PARTITIONS.match(exchange["rest"])
            partitions += int(count[1]) if count else 1  # "Exchange SinglePartition" has one partition.
    return partitions


def _slots_of(query: StreamingQuery) -> int:
    progress = query.lastProgress
    if progress is None:
        return 0  # The query is in its first batch; its slots are counted as running tasks.
    plan = plan_of_query(query)
    sources = sum(_leaves(json.loads(source.endOffset)) for source in progress.sources if source.endOffset)
    exchanges = _exchange_partitions(plan)
    # The stages of a micro-batch run one at a time.
    return sources + exchanges if REAL_TIME_SCAN in plan else max(sources, exchanges)


def _leaves(tree: object) -> int:
    return sum(map(_leaves, tree.values())) if isinstance(tree, dict) else 1
