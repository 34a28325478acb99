"""Run `rtm inspect`: read a checkpoint's files, query the broker if requested, and report problems."""

import json
import time
from itertools import pairwise
from statistics import median

from spark_rtm.inspect import Options, findings, mode, start
from spark_rtm.inspect.files.content import Checkpoint, read_checkpoint
from spark_rtm.inspect.files.folder import UnreadableError, open_folder
from spark_rtm.inspect.files.logs import NUMBER
from spark_rtm.inspect.report import LogSize, Pace, Report, render
from spark_rtm.inspect.sources import Broker, Connection, Offsets, kafka_offsets, partitions_of, replay_of, sources_of
from spark_rtm.inspect.start import SHUFFLE_PARTITIONS
from spark_rtm.program import UsageError

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
EARLIEST = -2
"""The offset with which `startingOffsets` denotes a partition's first record."""


def run(options: Options) -> int:
    """Inspect a checkpoint, print the result to standard output, and return the exit status."""
    servers = options.bootstrap_servers
    if options.command_config and not servers:
        raise UsageError("--command-config has no effect without --bootstrap-servers; add --bootstrap-servers")
    kafka = Connection(servers, options.command_config) if servers else None
    try:
        if options.as_starting_offsets:
            print("\n".join(starting_offsets(options.checkpoint, kafka)))
            return 0
        report = inspect(options.checkpoint, kafka)
    except UnreadableError as error:
        raise UsageError(str(error)) from error
    print(json.dumps(report.content(), indent=2) if options.format == "json" else render(report, time.time()))
    return 1 if report.has_problem else 0


def inspect(target: str, kafka: Connection | None = None) -> Report:
    """Inspect a checkpoint. Raise `UnreadableError` if the inspection is impossible."""
    checkpoint = read_checkpoint(open_folder(target), target)
    known = ask_broker(checkpoint, kafka) if kafka else None
    sources = sources_of(checkpoint, known)
    names = [operator.name for operator in checkpoint.operators]
    other = [source.name for source in sources if not source.is_kafka]
    planned, committed, position = checkpoint.last_planned, checkpoint.last_committed, checkpoint.position
    refused = start.refused_start(checkpoint, is_real_time=True)
    real_time = refused or start.to_real_time(planned, committed, names, other)
    micro_batch = start.refused_start(checkpoint, is_real_time=False) or start.to_micro_batch(planned)
    written = mode.spans(checkpoint.planned, checkpoint.committed, names, checkpoint.created_seconds)
    pace, last_commit = _pace(checkpoint), committed.written_seconds if committed else None
    partitions = [partition for source in sources for partition in source.partitions]
    confs = planned.confs if planned else {}
    shuffle_partitions = confs.get(SHUFFLE_PARTITIONS, "")
    return Report(
        checkpoint=target,
        query_id=checkpoint.query_id,
        modes=tuple(written),
        offset_log_version=planned.version if planned else None,
        commit_log_version=committed.version if committed else None,
        state_store_provider=confs.get(PROVIDER),
        shuffle_partitions=int(shuffle_partitions) if NUMBER.fullmatch(shuffle_partitions) else None,
        real_time=real_time,
        micro_batch=micro_batch,
        last_planned=planned.batch if planned else None,
        last_committed=position.batch if position else None,
        last_commit_seconds=last_commit,
        watermark_ms=planned.watermark_ms if planned else None,
        pace=pace,
        sources=tuple(sources),
        replay=replay_of(checkpoint, partitions, written[-1].mode if written else None, asked=known is not None),
        operators=checkpoint.operators,
        logs=tuple(_sizes(checkpoint)),
        findings=(
            *findings.of_files(checkpoint, real_time, micro_batch),
            *findings.of_time(pace, last_commit, time.time(), written),
            *(findings.of_broker(partitions) if known is not None else ()),
        ),
    )


def starting_offsets(target: str, kafka: Connection | None = None) -> list[str]:
    """
    Return the `startingOffsets` option for each Kafka source of a new query that continues this checkpoint.

    The offsets come from the last committed batch. If no batch is committed, they are the query's first offsets. The
    sink may lack results of a planned batch, so the new query must process that batch's records again.
    """
    checkpoint = read_checkpoint(open_folder(target), target)
    position = checkpoint.position
    found = position.sources if position else checkpoint.first_offsets
    positions = [offsets for value in found.values() if (offsets := kafka_offsets(value)) is not None]
    if not positions:
        raise UnreadableError(
            f"{target} contains no committed Kafka offsets, so there is no position to continue from; "
            "choose startingOffsets yourself"
        )
    known = ask_broker(checkpoint, kafka) if kafka else {}
    return [json.dumps(_with_new_partitions(offsets, known)) for offsets in positions]


def ask_broker(checkpoint: Checkpoint, kafka: Connection) -> Broker:
    """Query the broker for the partitions of all topics that a checkpoint mentions."""
    position = checkpoint.position
    newest = checkpoint.last_planned.sources if checkpoint.last_planned else {}
    topics = {topic for offsets in newest.values() for topic in kafka_offsets(offsets) or ()}
    return partitions_of(kafka, sorted(topics), position.started_ms if position else None)


def _with_new_partitions(offsets: Offsets, known: Broker) -> dict[str, dict[str, int]]:
    """Add `EARLIEST` offsets for new partitions, because a new query needs an offset for each partition."""
    return {
        topic: dict.fromkeys(map(str, known.get(topic, {})), EARLIEST) | dict(numbers)
        for topic, numbers in offsets.items()
    }


def _pace(checkpoint: Checkpoint) -> Pace | None:
    batches = sorted(set(checkpoint.planned) & set(checkpoint.committed))
    moments = [each / 1000 for batch in batches if (each := checkpoint.planned[batch].started_ms) is not None]
    if len(moments) < len(batches):  # continuous mode stores no start time
        moments = [at for batch in batches if (at := checkpoint.committed[batch].written_seconds) is not None]
    intervals = [after - before for before, after in pairwise(moments)]
    if not intervals:
        return None
    return Pace(round(median(intervals), 3), round(min(intervals), 3), round(max(intervals), 3), len(intervals))


def _sizes(checkpoint: Checkpoint) -> list[LogSize]:
    return [
        LogSize(log.name, len(log.entries), log.bytes, min(log.entries, default=None), max(log.entries, default=None))
        for log in (checkpoint.offsets, checkpoint.commits)
    ]
