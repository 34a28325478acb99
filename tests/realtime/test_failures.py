"""The keeper's decisions about recorded failures of real queries on OSS 4.3.0."""

import json
from pathlib import Path

import pytest

from spark_rtm.realtime.failures import Failure, failure_of
from spark_rtm.realtime.keeper import Decision, Limits, judge

RECORDED: dict[str, str] = json.loads(Path(__file__).with_name("recorded_failures.json").read_text(encoding="utf-8"))
LIMITS = Limits()
CLICKS = '{"clicks":{"0":1}}'


def recorded(name: str, at: float = 0, query: str = "copy", *, has_run: bool = False) -> Failure:
    return failure_of(query, RuntimeError(RECORDED[name]), at, has_run=has_run)


def decisions(*failures: Failure) -> list[Decision]:
    """Judge failures one after the other, as the keeper does."""
    return [judge(failure, failures[:number], LIMITS) for number, failure in enumerate(failures)]


@pytest.mark.parametrize(
    ("name", "condition", "offsets", "starts_again"),
    [
        ("executor killed", "ExecutorLostFailure", '{"test-4c702b23":{"0":1,"1":1}}', True),
        ("source broker away", "TimeoutException", "", True),
        ("target broker away", "TimeoutException", "", True),
        ("unknown target topic", "UnknownTopicOrPartitionException", "", True),
        ("poison record", "CAST_INVALID_INPUT", '{"test-b3ef57bb":{"0":2}}', True),
        ("missing offsets", "OffsetOutOfRangeException", '{"test-5d00774e":{"0":1}}', False),
        ("missing right", "TopicAuthorizationException", '{"test-5d00774e":{"0":0}}', False),
        ("too few slots", "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT", "", False),
        ("full disk under the state", "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT", CLICKS, True),
        ("full disk under the checkpoint", "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE.OFFSET_LOG", CLICKS, True),
        ("full disk under a micro-batch", "IOException", '{"events":{"0":3957,"1":4114}}', True),
        ("slow Python worker", "RuntimeError", '{"events":{"0":2859,"1":3251}}', True),
        ("refusal", "STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED", "", False),
    ],
)
def test_first_failure_restarts_only_if_it_can_help(
    name: str, condition: str, offsets: str, starts_again: bool
) -> None:
    """The keeper retries transient and possibly transient causes, but not permanent causes."""
    failure = recorded(name)

    decision = judge(failure, [])

    assert (condition, offsets) == (failure.name, failure.offsets)
    assert (LIMITS.first_pause_seconds if starts_again else None) == decision.pause_seconds


@pytest.mark.parametrize(
    ("text", "is_refusal"),
    [
        *((f"[SOME_CONDITION] Some text. SQLSTATE: {state}", True) for state in ("0A000", "42K03", "46110")),
        ("[SOME_CONDITION] Some text. SQLSTATE: 22018", False),
        ("[EXACTLY_ONCE_NO_TOPIC] topic 'clicks' does not exist", True),
    ],
)
def test_refusal_of_the_engine_or_the_sink_ends_the_query(text: str, is_refusal: bool) -> None:
    """Three classes of SQLSTATE mean that Spark rejects the query; bad data could be transient."""
    assert is_refusal == (judge(failure_of("copy", RuntimeError(text), 0), []).pause_seconds is None)


@pytest.mark.parametrize(
    "earlier",
    [
        recorded("executor killed", 1),
        recorded("poison record", 1, query="another"),
        recorded("poison record", -LIMITS.window_seconds),
        failure_of("copy", RuntimeError(RECORDED["poison record"].replace('{"0":2}', '{"0":1}')), 1),
    ],
    ids=["another-condition", "another-query", "before-the-window", "other-offsets"],
)
def test_other_earlier_failure_makes_no_poison_record(earlier: Failure) -> None:
    assert judge(recorded("poison record again", 2), [earlier], LIMITS).pause_seconds


@pytest.mark.parametrize("name", [name for name in RECORDED if "executor" in name])
def test_lost_executor_is_transient_whichever_task_reports_it(name: str) -> None:
    """Tasks at the other end of the streaming shuffle can fail before Spark reports the executor."""
    assert "an executor or its connection was lost (failure 1 of 5)" == judge(recorded(name), []).reason


CLOSED = (
    "Job aborted due to stage failure: Task 1 in stage 5.0 failed 1 times, most recent failure: Lost task 1.0 in stage \
5.0 (TID 9) (127.0.0.1 executor {}): io.netty.channel.StacklessClosedChannelException{}"
)


@pytest.mark.parametrize(
    ("executor", "detail", "is_transient"),
    [("driver", "", False), ("3", "", True), ("3", ": INTERNAL ERROR: Unexpected refcnt 2", False)],
    ids=["local", "cluster", "wrong-count"],
)
def test_closed_connection_is_transient_only_in_a_cluster(executor: str, detail: str, is_transient: bool) -> None:
    """Otherwise the task at the other end failed, perhaps at a record."""
    first, second = (failure_of("copy", RuntimeError(CLOSED.format(executor, detail)), at) for at in (0, 1))

    assert is_transient == bool(judge(second, [first]).pause_seconds)
    assert is_transient == (first.cause.what == "an executor or its connection was lost")


def test_text_in_an_exception_of_python_code_does_not_choose_the_cause() -> None:
    text = (
        "org.apache.spark.SparkException: the Python code failed for the key ('k',) with ValueError, so the query stops"
    )
    failure = failure_of("copy", RuntimeError(f"{text}:\nTraceback\nValueError: TimeoutException, Connection reset"), 0)

    assert "the Python code failed for a row" == failure.cause.what


def test_pauses_grow_until_the_limit_of_failures_in_the_window() -> None:
    lost = [recorded("executor killed", at) for at in range(5)]
    rare = decisions(*(recorded("executor killed", 200 * at, has_run=True) for at in range(6)))
    capped = judge(lost[4], lost[:4], Limits(max_failures=99, max_pause_seconds=10))

    assert [1, 2, 4, 8, None] == [decision.pause_seconds for decision in decisions(*lost)]
    reason = f"{lost[4].cause.what}, and this was failure 5 within {LIMITS.window_seconds:g} s"
    assert Decision(lost[4], reason, None) == decisions(*lost)[4]
    assert [1, 2, 4, 8, 8, 8] == [decision.pause_seconds for decision in rare]
    assert 10 == capped.pause_seconds


SLOTS_EARLIER: dict[str, tuple[Failure, bool]] = {
    # The loss of an executor takes its slots from every query, so another query may also be restarted.
    "lost-executor": (recorded("executor killed", query="another"), True),
    "long-ago": (recorded("executor killed", 4 - LIMITS.window_seconds, query="another"), False),
    # The query had its slots before, so tasks that are ending hold them; a new query has no such reason.
    "restart": (recorded("poison record"), True),
    "first-start": (recorded("poison record", query="another"), False),
    # An executor that is lost between two batches leaves no other error.
    "next-batch": (recorded("too few slots", has_run=True), True),
}


@pytest.mark.parametrize(("earlier", "is_awaited"), SLOTS_EARLIER.values(), ids=SLOTS_EARLIER)
def test_too_few_slots_are_waited_for_if_the_query_had_them(earlier: Failure, is_awaited: bool) -> None:
    decision = judge(recorded("too few slots", 5), [earlier])

    assert is_awaited == (decision.pause_seconds is not None)
    assert judge(recorded("too few slots", has_run=True), []).pause_seconds


@pytest.mark.parametrize("name", ["full disk under the state", "full disk under the checkpoint", "slow Python worker"])
def test_transient_failure_at_same_offsets_is_not_a_poison_record(name: str) -> None:
    """A full disk or a busy machine can last longer than a restart."""
    first, second, third = decisions(recorded(name), recorded(name, 5), recorded(name, 10))

    assert [1, 2, 4] == [decision.pause_seconds for decision in (first, second, third)]
    assert "record" not in str(third)


def test_slow_restarts_without_a_batch_end_at_the_limit_too() -> None:
    """If restarts are too slow for the window, the keeper gives up when the offsets of one query do not advance."""
    failures = [recorded("executor killed", 700 * at, query) for at in range(5) for query in ("first", "second")]
    *before, last = decisions(*failures)

    assert [True] * 8 + [False] == [decision.pause_seconds is not None for decision in before]
    assert last.pause_seconds is None
    assert "failure 5 at the same offsets without a finished batch" in last.reason


STAGE = "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in "
STAGE += "stage 3.0 (TID 3) (127.0.0.1 executor driver): "
JAVA = STAGE + "java.lang.IllegalArgumentException: "
PYTHON = (
    STAGE + "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File x\nValueError: "
)
RAISED = STAGE + "org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] "
QUOTED = RECORDED["poison record"].partition("x")[0]
CHOSEN = (
    "java.lang.TimeoutException",
    "java.lang.AuthorizationException",
    "SocketTimeoutException",
    "[KAFKA_DATA_LOSS.X.Y]",
    "[INSUFFICIENT_SLOT.A.B]",
    "x' [KAFKA_DATA_LOSS.X.Y] SQLSTATE: 42000 '",
    "SQLSTATE: 58030",
    "SQLSTATE: 42000",
    "x\nCaused by: org.apache.kafka.common.errors.TimeoutException: x",
    "\nTraceback (most recent call last):\n  File x\nModuleNotFoundError: No module named 'x'",
    "No space left on device",
)


@pytest.mark.parametrize("value", CHOSEN)
@pytest.mark.parametrize("begin", [QUOTED, JAVA, PYTHON, RAISED], ids=["quoted", "java", "python", "raised"])
def test_value_of_a_record_does_not_choose_the_cause(value: str, begin: str) -> None:
    end = RECORDED["poison record"].partition("'x'")[2] if begin == QUOTED else "' SQLSTATE: P0001"
    text = f"{begin}{value}{end.removeprefix(QUOTED)}"

    first, second = decisions(*(failure_of("copy", RuntimeError(text), at) for at in (0, 1)))

    assert "the cause is unknown (failure 1 of 5)" == first.reason
    assert second.pause_seconds is None


def test_names_in_stack_frames_are_not_causes() -> None:
    text = "java.lang.ArithmeticException: by zero\n\tat a.TimeoutException.b(C.java:1)"

    assert "the cause is unknown (failure 1 of 5)" == judge(failure_of("copy", RuntimeError(text), 0), []).reason
