"""Run all checks on one query, one after another."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.lint.engine import lint_paths
from spark_rtm.prove.checks.access import secrets, topics
from spark_rtm.prove.checks.flow import expected_output, flow, function_of_sink
from spark_rtm.prove.checks.input import hostile_input
from spark_rtm.prove.checks.restart import ordered_process, restart
from spark_rtm.prove.checks.state import state
from spark_rtm.prove.engine import DEFAULT_SLOTS
from spark_rtm.prove.job.settings import SHUFFLES
from spark_rtm.prove.process import OtherProcess
from spark_rtm.prove.query import Query, with_results
from spark_rtm.prove.verdicts import CHECKS, GOOD, Verdict, failed
from spark_rtm.realtime.queries import QueryFailedError
from spark_rtm.realtime.slots import NotEnoughSlotsError, slots_needed, slots_total
from spark_rtm.testing.records import Sent
from spark_rtm.text import finding

CHECKPOINT = "query"
SLOTS_PAGE = "references/cluster_and_slots.md"
ON_RECORDS = frozenset({"flow", "input", "restart"})
"""Checks that first evaluate records one by one, which runs the job's code again."""


@dataclass(frozen=True)
class Options:
    """Options for the checks of `rtm prove`."""

    samples: Mapping[str, list[Sent]] = field(default_factory=dict)
    expect: Path | None = None
    partitions: int = 2
    slots: int = 0
    duration: float = 10.0
    rate: float = 50.0
    topics: tuple[str, ...] = ()
    checks: frozenset[str] = frozenset(CHECKS)
    """The checks to run (the query always starts)."""
    interval_ms: int = 5_000
    query: str = ""
    """Line or name of the only query to prove (empty: all queries)."""


def checked(query: Query, options: Options, say: Callable[[str], None]) -> Iterator[Verdict]:
    """Yield the verdicts on one query."""
    yield from _started(query, options, say)
    if query.topics or query.reads:
        yield topics(query, options.topics)
    if "secrets" in options.checks:
        say("looking for passwords")
        yield from secrets(query)


def _started(query: Query, options: Options, say: Callable[[str], None]) -> Iterator[Verdict]:
    slots, is_enough = _slots(query, options)
    yield slots
    if not is_enough:
        return
    say("starting the query in real-time mode")
    try:
        running = query.trial.start(CHECKPOINT, options.interval_ms)
    except (PySparkException, Py4JJavaError, QueryFailedError, NotEnoughSlotsError) as error:
        found = lint_paths([query.place.path], finding.OSS)
        yield refused(error, query.place.path, found[0].line if found else query.place.line)
        return
    yield Verdict("mode", GOOD, "real-time mode: the plan contains RealTimeStreamScan")
    try:
        yield from _running(query, running, options, say)
    except QueryFailedError as error:
        yield query.place.failed("flow", "a record makes the query fail", error)
    finally:
        query.trial.stop(running)


def _running(query: Query, running: StreamingQuery, options: Options, say: Callable[[str], None]) -> Iterator[Verdict]:
    if ON_RECORDS & options.checks:
        query = with_results(query)
    wanted = options.checks if options.expect else options.checks - {"expect"}
    run = Run(query, running, options)
    with ExitStack() as stack:
        for name, (step, check) in OF_RUNNING_QUERY.items():
            if name not in BEFORE_OTHER_PROCESS and "restart" in wanted and not run.process:
                # Starting Spark in another process takes seconds, and would increase the latencies of earlier checks.
                run.process = ordered_process(query, options.slots)
                stack.callback(run.process.kill)
            if name in wanted:
                say(step.format_map(vars(options)))
                yield from check(run)


@dataclass
class Run:
    """A running query and its options."""

    query: Query
    running: StreamingQuery
    options: Options
    process: OtherProcess | None = None
    """The separate process that runs the query for the `restart` check."""


def _expected(run: Run) -> Iterator[Verdict]:
    if run.options.expect:
        yield expected_output(run.query, run.running, run.options.expect)


def _input(run: Run) -> Iterator[Verdict]:
    yield from hostile_input(run.query, run.running)
    yield from function_of_sink(run.query)


def _restarted(run: Run) -> Iterator[Verdict]:
    run.query.trial.stop(run.running)
    if run.process:
        yield restart(run.query, run.process)


OF_RUNNING_QUERY: Mapping[str, tuple[str, Callable[[Run], Iterator[Verdict]]]] = {
    "expect": ("comparing with the expected output", _expected),
    "flow": (
        "sending {rate:g} records/s for {duration:g} s",
        lambda run: iter([flow(run.query, run.running, run.options.duration, run.options.rate)]),
    ),
    "state": ("watching the state", lambda run: iter([state(run.query, run.running)])),
    "input": ("sending hostile records", _input),
    "restart": ("killing the query during a batch and restarting it", _restarted),
}
"""The checks on a running query, in execution order, with the step to print."""
BEFORE_OTHER_PROCESS = ("expect", "flow")


def _slots(query: Query, options: Options) -> tuple[Verdict, bool]:
    """Return the verdict on the user's cluster slots, and whether the query can start on this machine."""
    partitions, free = sum(query.trial.partitions.values()), options.slots or DEFAULT_SLOTS
    own = str(query.trial.rows.sparkSession.conf.get(SHUFFLES))
    shuffles = query.recording.shuffles or own
    needed, is_enough_here = _needed(query, shuffles), _needed(query, own) <= slots_total(query.bench.spark)
    more = f", {needed - partitions} for shuffles with {SHUFFLES}={shuffles}" if needed > partitions else ""
    counted = f"{needed} task slots needed ({partitions} for the source{more}), {free} available"
    if needed <= free:
        return Verdict("slots", GOOD, counted, page=SLOTS_PAGE), is_enough_here
    effect = (
        "the query fails with CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT"
        if needed > partitions
        else "some partitions are never read, although no error is reported"
    )
    here = f"; the other checks run with {own} shuffle partitions" if needed > partitions else ""
    fix = f"use {needed} slots, fewer source partitions or a smaller {SHUFFLES}"
    if not query.recording.has_own_shuffles:
        effect = "and the job does not set this number"
        fix = f"set {SHUFFLES} in the job, or pass the cluster's value with --conf {SHUFFLES}=N"
    joint = ", so " if query.recording.has_own_shuffles else ", "
    return query.place.wrong("slots", f"{counted}{joint}{effect}{here}", fix, SLOTS_PAGE), is_enough_here


def _needed(query: Query, shuffles: str) -> int:
    conf = query.trial.rows.sparkSession.conf
    own = str(conf.get(SHUFFLES))
    conf.set(SHUFFLES, shuffles)
    try:
        # A new DataFrame is planned with the changed setting.
        return slots_needed(query.trial.rows.select("*"), sum(query.trial.partitions.values()))
    finally:
        conf.set(SHUFFLES, own)


def refused(error: Exception, path: Path, line: int) -> Verdict:
    """Return the verdict on a query that cannot be built or started."""
    return failed("mode", "the query does not run", error, path, line)
