"""
Find the cause of a query's failure in the exception's message, and decide whether a restart can help.

On OSS 4.3.0, only the message of a query's exception contains the error condition. The message also quotes record
values, so this module searches only the engine's part of the message.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum

from .queries import CONDITION, printable

# The engine's text before the first condition: a PySpark call, the lost task, wrapping conditions, and classes.
ENGINE_PREFIX = re.compile(
    r"(?:An error occurred while calling o\d+\.\w+\.\n: |"
    r"Job aborted due to stage failure: [^'\"\n]*?\(TID \d+\) \([^()\n]*\): |"
    r"\[FOREACH_USER_FUNCTION_ERROR\] [^'\"\n]*?Reason: (?=\[EXACTLY_ONCE_|org\.apache\.kafka\.)|"
    r"\[(?:STREAM_FAILED|STREAMING_ASYNC_OPERATION_FAILED)\] [^'\"\n]*?exception: |"
    r"(?:[a-z]\w*\.)+[A-Z][\w$]*: )*"
)
JAVA_CLASS = re.compile(r"(?:[a-z]\w*\.)+[A-Z][\w$]*: $")
# Exception messages from these packages contain no record values. Any other message can contain record values.
ENGINE_CLASS = re.compile(
    r"(?:org\.(?:apache|rocksdb)|spark_rtm\.exactly_once|io\.netty|java\.(?:io|net|nio|util\.concurrent)|javax\.net)\.[\w.$]+"
    r"(?<!PythonException): $"
)
JAVA_ERROR = re.compile(r"\b(?:[a-z]\w*\.)+([A-Z]\w*(?:Exception|Error))\b|\b(ExecutorLostFailure)\b")
# Exceptions that wrap the actual cause.
WRAPPERS = {"SparkException", "StreamingQueryException", "ExecutionException", "TaskCompletionListenerException"}
SQL_STATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")
# SQLSTATE of STREAM_FAILED, which wraps the actual condition, so it is ignored.
WRAPPER_STATE = "XXKST"
# SQLSTATE classes of errors that a restart repeats: unsupported feature, syntax or analysis, forbidden setting.
REFUSAL_STATES = ("0A", "42", "46")
# SQLSTATE class for a file that Spark could not read or write, usually in the checkpoint.
STORAGE_STATES = ("58",)
SLOW_PYTHON = "Python worker failed to connect back"
# Spark appends the query's identity, offsets and plan to the message.
DETAILS = "=== Streaming Query ==="
# The error condition of a Python worker's exception does not contain the exception's type.
FIRST_TRACEBACK = re.compile(r"Traceback [^\n]*\n(?: [^\n]*\n)+([^\n]*)")
MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '[\w.]+'")
COMMITTED = re.compile(r"^Current Committed Offsets: \{(.*)\}$", re.MULTILINE)
KAFKA_OFFSETS = re.compile(r"\]: (\{.*?\}\})")

REMEDIES = {
    "CAST_INVALID_INPUT": "use try_cast, and send rows with a null result to a reject topic",
    "CAST_OVERFLOW": "use try_cast, and send rows with a null result to a reject topic",
    "MALFORMED_RECORD_IN_PARSING": "use the mode PERMISSIVE of from_json, and send malformed rows to a reject topic",
    "INVALID_UTF8_STRING": "use try_validate_utf8 or is_valid_utf8, and send bad rows to a reject topic",
    "ARITHMETIC_OVERFLOW": "use try_add, try_multiply or a range check before the arithmetic",
    "DATETIME_OVERFLOW": "check the range of a number before you convert it to a time",
    "DIVIDE_BY_ZERO": "use try_divide",
    "INVALID_ARRAY_INDEX": "use get() instead of an index",
    "RecordTooLargeException": "truncate long keys and values, or send them truncated to a reject topic; a larger "
    "kafka.max.request.size of the sink and max.message.bytes of its topic only move the limit",
    "null topic": "give every row a topic, for example with coalesce and a reject topic",
    "Python": "replace the Python function with SQL functions, or run it with python_state.with_python; on OSS, "
    "nothing else runs Python on the data path in real-time mode",
    "ForeachBatch": "write to Kafka instead of using foreachBatch, and copy the records to other stores in a second "
    "query",
    "OUTPUT_MODE": 'write .outputMode("update")',
    "SINK_NOT_SUPPORTED": "write to Kafka, and copy the records to other stores in a second, micro-batch query",
    "INPUT_STREAM_NOT_SUPPORTED": "read the stream from Kafka",
    "STATEFUL_OPERATORS_BEFORE_UNION": "union the streams before the aggregation",
    "STDS_FAILED_TO_READ_OPERATOR_METADATA": "run it with python_state.transform_with_state, or in micro-batch mode",
    "INSUFFICIENT_SLOT": "use more task slots, fewer source partitions or a smaller spark.sql.shuffle.partitions",
    "CHECKPOINT_LOCATION_NOT_EMPTY": "if the folder has only hidden files `.0.*.tmp`, the first commit was "
    "interrupted, so delete these files; otherwise restore the missing files, or use a new checkpoint",
    "sink allowlist": "write to Kafka, or use `foreach` to write to a data store",
    "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST": "remove this operation, or run the query in micro-batch mode",
}
"""Remedies for unsupported queries and bad records, by a part of the condition or message. The first match applies."""


class Kind(Enum):
    """The expected effect of a restart after a failure."""

    TRANSIENT = "a restarted query recovers after the cause is removed"
    PERMANENT = "a restarted query fails again"
    SLOTS = "a restarted query recovers if an executor was lost and a new executor has registered"
    UNKNOWN = "a restarted query recovers unless a record caused the failure"


@dataclass(frozen=True)
class Cause:
    """A known cause of failures, recognized by parts of the exception's message."""

    kind: Kind
    what: str
    parts: tuple[str, ...]
    remedy: str


REFUSED = Cause(Kind.PERMANENT, "Spark rejects the query", (), "correct the query according to the message")
STORAGE = Cause(
    Kind.TRANSIENT,
    "a file of the checkpoint cannot be read or written",
    # A micro-batch query that writes the file fails without an error condition.
    ("No space left on device", "Disk quota exceeded"),
    "if the failure repeats, check the free space, the permissions and the availability of the checkpoint folder",
)
NOT_EMPTY = "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"
INTERRUPTED = Cause(
    Kind.TRANSIENT,
    "the first commit was interrupted, and its hidden file is now deleted",
    (),
    "if the failure repeats, look for a second process that uses the checkpoint",
)
SECOND_WRITER = Cause(
    Kind.PERMANENT,
    "a second process runs the query on the same checkpoint",
    ("CONCURRENT_STREAM_LOG_UPDATE", "EXACTLY_ONCE_FENCED"),
    "stop one of the two processes; if only one process is running, inspect the checkpoint",
)
CLOSED = ("ClosedChannelException", "Connection reset", "Connection from", "Connection to streaming shuffle")
OTHER_END = "read the error of the other task in the executor logs; a local session prints this error"
LOST = Cause(
    Kind.TRANSIENT,
    "an executor or its connection was lost",
    ("ExecutorLostFailure", *CLOSED),
    f"if the failure repeats, {OTHER_END}",
)
# Connections also close without a lost executor: in a local session, or after a wrong reference count.
OTHER_TASK = Cause(Kind.UNKNOWN, "a task at the other end of a connection failed", CLOSED, OTHER_END)
UNKNOWN = Cause(Kind.UNKNOWN, "the cause is unknown", (), "correct the query so that it does not fail on this record")
CAUSES = (
    Cause(
        Kind.PERMANENT,
        "the Python workers lack a module",
        ("ModuleNotFoundError",),
        "send your code with `spark-submit --py-files` and packages with `--archives`, or install them on each worker",
    ),
    # The message of a Python exception can contain any text.
    Cause(
        Kind.UNKNOWN,
        "the Python code failed for a row",
        ("the Python code failed for the key",),
        "correct the code at the end of the traceback, or return a row for a reject topic instead of raising an "
        "exception",
    ),
    STORAGE,
    SECOND_WRITER,
    replace(REFUSED, parts=("EXACTLY_ONCE_",)),
    Cause(
        Kind.PERMANENT,
        "unread records are missing in Kafka",
        ("OffsetOutOfRangeException", "KAFKA_DATA_LOSS"),
        "run the query once with trigger(availableNow=True) and failOnDataLoss=false on the same checkpoint, which "
        "skips the missing records; then start it again, and raise the retention of the topic (the page "
        "references/errors_kafka.md#offset-out-of-range)",
    ),
    Cause(
        Kind.PERMANENT,
        "a login failed or a permission is missing",
        ("AuthorizationException", "AuthenticationException", "SaslStateException", "AccessControlException"),
        "correct the credentials, or grant the permission named in the message, and restart the query",
    ),
    Cause(
        Kind.SLOTS,
        "fewer task slots are free than the query needs",
        ("INSUFFICIENT_SLOT", "NotEnoughSlotsError"),
        REMEDIES["INSUFFICIENT_SLOT"],
    ),
    LOST,
    Cause(
        Kind.TRANSIENT,
        "a Python worker did not start within ten seconds",
        (SLOW_PYTHON,),
        "if the failure repeats, start fewer queries with Python at the same time, or use more cores",
    ),
    Cause(
        Kind.TRANSIENT,
        "the Python process of a task has ended",
        ("the Python process of this task has ended",),
        "if the failure repeats, read the process's last lines in the executor log, and give the process more memory",
    ),
    Cause(
        Kind.TRANSIENT,
        "a server did not respond in time, or the topic does not exist on this server",
        (
            "TimeoutException",
            "BufferExhaustedException",
            "TimeoutError",
            "ConnectException",
            "DisconnectException",
            "NetworkException",
            "NotEnoughReplicasException",
            "NotLeaderOrFollowerException",
            "UnknownTopicOrPartitionException",
        ),
        "if the failure repeats, check that the broker responds and that the topic exists",
    ),
)
"""Known causes of failures. The first match applies."""


@dataclass(frozen=True)
class Failure:
    """A failure of a streaming query."""

    query_name: str
    name: str
    """Error condition, or else the innermost Java exception, or else the Python type."""
    cause: Cause
    remedy: str
    offsets: str
    """Committed offsets of each source at the failure, as JSON. A restart continues from these offsets."""
    message: str
    """The first line of the message."""
    at: float
    """Time of the failure in monotonic seconds."""
    has_run: bool = False
    """Whether this run had finished a batch, which proves that the cluster had enough task slots."""

    def is_same_as(self, other: "Failure") -> bool:
        """Return whether both failures have the same query, offsets and name."""
        return (self.query_name, self.name, self.offsets) == (other.query_name, other.name, other.offsets)


def failure_of(query_name: str, error: BaseException, at: float, *, has_run: bool = False) -> Failure:
    """Describe an exception that a query or its start raised."""
    whole = _without_frames(error)
    text, _, details = whole.rpartition(DETAILS) if DETAILS in whole else (whole, "", "")
    committed = COMMITTED.search(details)
    sources = committed[1] if committed else ""
    name = name_of(error)
    cause = _cause_of(name, text)
    # Messages rarely begin with a record value, so only the text before the first quote is searched.
    head = re.split("['\"]", text, maxsplit=1)[0]
    by_condition = next((r for known_by in (name, head) for part, r in REMEDIES.items() if part in known_by), None)
    return Failure(
        query_name=query_name,
        name=name,
        cause=cause,
        remedy=cause.remedy if cause.parts else by_condition or cause.remedy,
        offsets=" ".join(KAFKA_OFFSETS.findall(sources)) or sources,
        message=printable(text.strip().partition("\n")[0]),
        at=at,
        has_run=has_run,
    )


def name_of(error: BaseException) -> str:
    """Return the error condition, or else the innermost Java exception, or else the Python type."""
    text = _without_frames(error)
    if condition := _condition(text):
        return condition
    get_condition = getattr(error, "getCondition", None)
    if get_condition and (condition := get_condition()) and condition != "STREAM_FAILED":
        return str(condition)
    java = ["".join(names) for names in JAVA_ERROR.findall(_engine_text(text))]
    return next((name for name in reversed(java) if name not in WRAPPERS), type(error).__name__)


def _without_frames(error: BaseException) -> str:
    # A stack frame can contain another exception's class name.
    return "\n".join(line for line in str(error).splitlines() if not line.lstrip().startswith("at "))


def _prefix(text: str) -> str:
    found = ENGINE_PREFIX.match(text)
    return found[0] if found else ""


def _condition(text: str) -> str:
    """Return the error condition that follows the engine's prefix, or an empty string."""
    found = CONDITION.match(_engine_text(text), len(_prefix(text)))
    return found[1] if found else ""


def _engine_text(text: str) -> str:
    """Return the engine's part of an exception's message. The other parts can contain record values from user code."""
    prefix = _prefix(text)
    return prefix if JAVA_CLASS.search(prefix) and not ENGINE_CLASS.search(prefix) else text


def _lacks_module(text: str) -> bool:
    # A value in an exception message can contain another traceback.
    traceback = FIRST_TRACEBACK.search(text)
    return bool(traceback and MISSING_MODULE.fullmatch(traceback[1]))


def _cause_of(name: str, text: str) -> Cause:
    has_condition = bool(CONDITION.fullmatch(f"[{name}]"))
    known_by = name if has_condition else f"{name} {_engine_text(text)}"
    if _lacks_module(text) and ("PYTHON" in name or not has_condition):
        known_by += " ModuleNotFoundError"
    known = next((cause for cause in CAUSES if any(part in known_by for part in cause.parts)), None)
    if known is LOST and ("executor driver): " in _prefix(text) or "refcnt" in known_by):
        return OTHER_TASK
    if known:
        return known
    # The engine writes its SQLSTATE at the end of the message, after all values.
    states = [state for state in SQL_STATE.findall(text) if state != WRAPPER_STATE] if has_condition else []
    state = states[-1] if states else ""
    if state.startswith(REFUSAL_STATES):
        return REFUSED
    return STORAGE if state.startswith(STORAGE_STATES) else UNKNOWN
