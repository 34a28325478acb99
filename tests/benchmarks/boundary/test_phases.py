"""The phases of a boundary explain the wait of its slowest record."""

import numpy as np
import pytest

from benchmarks.boundary.measure import few, summary
from benchmarks.boundary.phases import PHASES, UNEXPLAINED, Explained, explain
from benchmarks.boundary.table import GROUPS
from benchmarks.boundary.trace import Mark, marks
from benchmarks.results.record_times import RecordTimes

START_MS = 1_700_000_000_000
LINES = (
    "000 LowLatencyReaderFactoryWrap Creating low latency PartitionReader, stopping at 1700000000100",
    "103 KafkaDataConsumer From Kafka topicPartition=in-0 groupId=g read 30 records through 9 polls",
    "104 KafkaDataConsumer From Kafka topicPartition=in-1 groupId=g read 30 records through 9 polls",
    "106 Executor Finished task 0.0 in stage 8.0 (TID 16). 2755 bytes result sent to driver",
    "115 Executor Finished task 0.0 in stage 9.0 (TID 18). 2755 bytes result sent to driver",
    "117 DAGScheduler Job 4 finished: start at NativeMethodAccessorImpl.java:0, took 9 ms",
    "119 MicroBatchExecution Committed offsets for batch 4. Metadata OffsetSeqMetadata(0)",
    "125 MicroBatchExecution Delay offset logging for batch 5 in real time mode.",
    "137 MicroBatchExecutionContext queryPlanning took 10 ms",
    "145 SparkContext Starting job: start at NativeMethodAccessorImpl.java:0",
    "150 TaskSetManager [queryId = a] [batchId = 5] Starting task 0.0 in stage 10.0 (TID 20) (host, driver)",
    "155 TaskSetManager [queryId = a] [batchId = 5] Starting task 0.0 in stage 11.0 (TID 22) (host, driver)",
    "160 LowLatencyReaderFactoryWrap Creating low latency PartitionReader, stopping at 1700000000700",
    "165 KafkaBatchPartitionReader Kafka source record timestamp type is LogAppendTime",
    "170 RocksDB StateStoreProviderId[ storeId=StateStoreId[ operatorId=0 ] ] Loading 7 with stateStoreCkptId: 5",
    "174 RocksDB StateStoreProviderId[ storeId=StateStoreId[ operatorId=0 ] ] Loaded 7 with uniqueId Some(5)",
    "180 StreamingShuffleReader a 5 Created shuffle client to shuffle writer with id 0 and location here.",
    "181 Executor Running task 0.0 in stage 11.0 (TID 22)",
)
"""Lines of Spark's log; each begins with its milliseconds after `START_MS`."""

NECESSARY = [line for line in LINES if not line.startswith(("103", "104", "106", "115", "181"))]
"""Lines of steps that only one task or the driver logs."""


def traced(lines: tuple[str, ...] = LINES) -> list[Mark]:
    return marks(f"{START_MS + int(line[:3])}{line[3:]}\n" for line in lines)


def record_times(due_ms: list[float], appended_ms: list[int], result_ms: list[int]) -> RecordTimes:
    """Return times relative to `START_MS`; each result is received half a millisecond after its append."""
    due_us, appended, results = (
        np.array([round(1000 * (START_MS + value)) for value in due_ms], dtype=np.int64),
        np.array(appended_ms, dtype=np.int64) + START_MS,
        np.array(result_ms, dtype=np.int64) + START_MS,
    )
    return RecordTimes(due_us, due_us, appended, results, results * 1000 + 500, np.zeros(1, dtype=np.int64))


TIMES = record_times([80, 101, 108, 300], [82, 102, 109, 301], [85, 190, 188, 303])
"""The second record waits the longest: it is due when the batch stops reading."""


def test_shares_of_the_phases_add_up_to_the_wait() -> None:
    [boundary] = explain(traced(), TIMES)

    shares = boundary.shares()

    assert 89.5 == boundary.wait_ms == sum(shares.values())
    assert 4 == boundary.batch
    expected = {
        "append the record": 1,
        "stop reading": 2,
        "end the tasks, commit state": 11,
        "end the job": 2,
        "write commit log": 2,
        "report progress, read offsets": 6,
        "plan the query": 12,
        "prepare the job": 8,
        "submit the job": 5,
        "start source tasks": 10,
        "first fetch": 5,
        "launch state tasks": 0,
        "start state tasks": 5,
        "load state": 4,
        "connect the shuffle": 6,
        "first result": 8,
        "drain the queue": 2.5,
        UNEXPLAINED: 0,
    }
    assert expected == shares


def test_time_without_a_phase_is_unexplained() -> None:
    spans = dict.fromkeys(PHASES, (0.0, 0.0)) | {"plan the query": (-5.0, 10.0), "first fetch": (5.0, 20.0)}

    shares = Explained(1, 30.0, spans).shares()

    used = {name: share for name, share in shares.items() if share}
    assert {"plan the query": 10, "first fetch": 10, UNEXPLAINED: 10} == used


@pytest.mark.parametrize("missing", NECESSARY, ids=lambda line: "-".join(line.split()[1:5]))
def test_boundary_without_a_step_is_left_out(missing: str) -> None:
    assert [] == explain(traced(tuple(line for line in LINES if line != missing)), TIMES)


def test_boundary_outside_of_the_traffic_is_left_out() -> None:
    """Without a waiting record, there is no wait to explain."""
    assert [] == explain(traced(), record_times([9_000], [9_001], [9_003]))


def test_summary_has_the_mean_phases_and_the_boundary_with_the_median_wait() -> None:
    """The chart shows one real boundary, and the phases of the table add up to the mean wait."""
    [boundary] = explain(traced(), TIMES)
    found = [Explained(number, wait, boundary.spans) for number, wait in ((1, 90.0), (2, 400.0), (3, 95.0))]

    row = summary("recommended", found)

    assert (3, 95.0, 195.0, 400.0) == (
        row["boundaries"],
        row["typical"]["wait_ms"],
        row["wait_mean_ms"],
        row["wait_max_ms"],
    )
    assert 105.5 == row["mean_ms"][UNEXPLAINED]
    assert sum(row["mean_ms"].values()) == pytest.approx(row["wait_mean_ms"])
    assert 3 == row["typical"]["batch"]
    assert 5.5 == row["typical"]["shares_ms"][UNEXPLAINED]
    assert "only 2 boundaries" in few("recommended", 2)


def test_columns_of_a_boundary_cover_each_phase_once() -> None:
    """The columns add up to the wait, because no phase is missing and none counts twice."""
    assert sorted([*PHASES, UNEXPLAINED]) == sorted(name for names in GROUPS.values() for name in names)
