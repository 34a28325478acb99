"""Run all checks on a function, or on each query of an unmodified job."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, PySparkTypeError, PySparkValueError

from spark_rtm.lint.engine import lint_paths
from spark_rtm.lint.sources import is_micro_batch, read_text
from spark_rtm.prove.checks.access import fetch, login
from spark_rtm.prove.engine import Bench
from spark_rtm.prove.job import runner
from spark_rtm.prove.job.recorders import Caught, Recording
from spark_rtm.prove.job.target import Job, TargetError
from spark_rtm.prove.loop import ON_RECORDS, Options, checked, refused
from spark_rtm.prove.query import query_of_job
from spark_rtm.prove.records.samples import compared_texts
from spark_rtm.prove.verdicts import CHECKS, GOOD, UNCHECKED, WRONG, Verdict, failure_of
from spark_rtm.realtime.proof import NotRealTimeError, assert_real_time
from spark_rtm.realtime.queries import QueryFailedError
from spark_rtm.testing.trial import new_checkpoints
from spark_rtm.text import finding

PIPELINE = "a pipeline (`dp`, `dlt`) runs only in its own engine; move its transformation into a function"
# Error conditions for a sink whose connector is not on the class path.
NO_CONNECTOR = ("DATA_SOURCE_NOT_FOUND", "ClassNotFoundException")
FROM_KAFKA = "read the stream from Kafka; on OSS, real-time mode has no other source"
DEBUGGING = ("console", "memory", "noop")
SINKS = "Kafka, or `foreach` to write to a data store"
BY_TEXT = {
    "DECLARATIVE_PIPELINE": PIPELINE,
    "AVRO_NOT_LOADED": "run `make setup`, which fetches the jar of the Avro functions",
    "PROTOBUF_NOT_LOADED": "pass --packages org.apache.spark:spark-protobuf_2.13:VERSION, in a published version",
    "DATA_SOURCE_NOT_FOUND": "pass the package of the data source: --packages GROUP:ARTIFACT:VERSION",
    "ClassNotFoundException": "pass the package of the class: --packages GROUP:ARTIFACT:VERSION",
    "PATH_NOT_FOUND": "put sample rows at this path, or set the reader's schema, so prove can generate rows",
}
CALL = "PySpark also rejects this call without prove; correct the call"
SETTINGS = "pass the job's settings (--conf KEY=VALUE, arguments after `--`, environment variables)"
BY_KIND = {
    FileNotFoundError: "run prove in the folder that contains the job's files",
    OSError: "start the server that the job calls",
    PySparkTypeError: CALL,
    PySparkValueError: CALL,
    SyntaxError: "run prove with the job's Python version",
    Exception: SETTINGS,
}
REFUSALS = (PySparkException, Py4JJavaError, QueryFailedError, TypeError, ValueError)
PAGE = "references/prove.md#a-job-that-starts-its-queries"
ALLOW = "pass --side-effects to execute them"
MICRO_BATCH = "no queries in real-time mode; `rtm lint --as-real-time` checks the queries in micro-batch mode"
SOURCES_PAGE = "references/sources_sinks_operators.md"


Say = Callable[[str], None]


def prove(
    bench: Bench, job: Job, options: Options, say: Say, show: Callable[[Verdict], None] = lambda _: None
) -> list[Verdict]:
    """Run the checks and return the verdicts in `CHECKS` order. Call `say` with each step, `show` with each verdict."""
    wanted, done = list[Verdict](), {"topics", "login"} | ({"expect"} if options.expect is None else set())

    def add(verdict: Verdict) -> None:
        done.add(verdict.check)
        # All checks require a started query, so problems that prevent it from starting are always reported.
        if verdict.check in options.checks or verdict.status != GOOD or verdict.fix == ALLOW:
            wanted.append(verdict)
            show(verdict)

    for verdict in _verdicts(bench, job, options, say):
        add(verdict)
    for check in [check for check in CHECKS if check in options.checks - done]:
        add(Verdict(check, UNCHECKED, "not checked, because the query does not run"))
    return sorted(wanted, key=lambda verdict: CHECKS.index(verdict.check))


def _verdicts(bench: Bench, job: Job, options: Options, say: Say) -> Iterator[Verdict]:
    if "lint" in options.checks:
        found = lint_paths([job.path], finding.OSS)
        yield from (Verdict("lint", WRONG, f"{f.rule}: {f.message}", f.fix, "", f.path, f.line) for f in found)
        if not found:
            is_unchecked = is_micro_batch(read_text(job.path), job.path.suffix.lower())
            yield Verdict("lint", GOOD, MICRO_BATCH if is_unchecked else "no findings")
    recording = Recording(bench.spark.newSession(), bench.kafka, job, options.partitions)
    say("building the query" if job.function else "running the job to capture its queries")
    try:
        _record(recording)
    except runner.JobLostError:
        raise
    except Exception as error:
        if not job.function or not isinstance(error, REFUSALS):
            raise runner.JobLostError(stopped(error, recording)) from error
        yield refused(error, job.path, job.line)
        return
    yield from _verdicts_of_job(bench, recording, options, say)


def _record(recording: Recording) -> None:
    runner.record(recording)
    job = recording.job
    if job.function and (named := compared_texts(recording.caught[0].frame).get("topic")):
        # A function may reject rows from topics other than the topic in its code.
        recording.job = replace(job, topics={**job.topics, next(iter(job.topics)): named})
        recording.forget()
        runner.record(recording)


def runs_of_code(job: Job, checks: Collection[str]) -> str:
    """Return a sentence about how often `rtm prove` runs a job's code."""
    often = "twice" if ON_RECORDS.intersection(checks) else "once"
    again = ", and once more for each query that the check `restart` kills" if "restart" in checks else ""
    return f"the code of {job.path.name} will run {often}{again}; its plain Python code runs with your permissions"


def _verdicts_of_job(bench: Bench, recording: Recording, options: Options, say: Say) -> Iterator[Verdict]:
    if recording.skipped:
        writes = ", ".join(f"{written} (line {line})" for written, line in recording.skipped)
        yield Verdict("mode", GOOD, f"prove skipped these writes of the job: {writes}", ALLOW)
    yield from _stand_ins(recording)
    yield from _sources(bench, recording)
    if not recording.caught:
        fix = "pass the file that calls start(), and start the servers that the job needs"
        yield _of_job(UNCHECKED, "the job does not start a query", fix, recording, 0)
    shown = set[Verdict]()
    for number in _chosen(recording, options.query):
        caught = recording.caught[number]
        prefix = f"query {number + 1} (line {caught.line}): " if len(recording.caught) > 1 else ""
        for verdict in _of_query(bench, recording, number, options, say):
            # All queries in a file have the same verdicts on passwords.
            if verdict.check != "secrets" or verdict not in shown:
                yield replace(verdict, evidence=prefix + verdict.evidence)
            shown.add(verdict)


def _chosen(recording: Recording, query: str) -> list[int]:
    """Return the numbers of the queries to prove, with debugging sinks last."""
    caught = recording.caught
    chosen = [number for number, one in enumerate(caught) if not query or query in one.names]
    if caught and not chosen:
        known = ", ".join(" ".join(sorted(filter(None, one.names))) for one in caught)
        problem = f"--query {query}: the job does not start this query"
        raise runner.JobLostError(f"{problem}; use one of these lines or names: {known}")
    return sorted(chosen, key=lambda number: caught[number].sink in DEBUGGING)


def _stand_ins(recording: Recording) -> Iterator[Verdict]:
    for name, line in recording.missing.items():
        evidence = f"the module {name!r} is not installed, so a placeholder accepted the job's calls"
        yield _of_job(UNCHECKED, evidence, _install(name), recording, line)
    for table, line in recording.absent.items():
        evidence = f"the table {table} does not exist here, so prove uses two generated rows instead"
        yield _of_job(UNCHECKED, evidence, "put sample rows at this path", recording, line)


def _sources(bench: Bench, recording: Recording) -> Iterator[Verdict]:
    for kind, line in recording.other_sources:
        evidence = f"the job reads from the source {kind!r}, to which prove cannot send records"
        yield _of_job(WRONG, evidence, FROM_KAFKA, recording, line)
    for name, line in recording.refused.items():
        evidence = f"real-time mode on OSS does not support the {name!r} option; the remaining checks omit it"
        wrong = _of_job(WRONG, evidence, "remove the option: a batch reads all records that arrive", recording, line)
        yield replace(wrong, page=f"{SOURCES_PAGE}#options-and-settings")
    if recording.topics:
        topic, path = recording.topics[0], str(recording.path)
        options = recording.source_options
        if held := fetch(options, path, recording.source_line):
            yield held
        if found := login(bench, options, topic, path, recording.source_line, calls_others=recording.job.side_effects):
            yield found


def _of_query(bench: Bench, recording: Recording, number: int, options: Options, say: Say) -> Iterator[Verdict]:
    caught = recording.caught[number]
    if _is_deliberate(recording, caught):
        own = caught.trigger or "the default"
        evidence = f"not checked: the trigger {own} and the sink {caught.sink}, next to a query in real-time mode,"
        yield Verdict("mode", GOOD, f"{evidence} show that this query is meant to run in micro-batch mode")
        return
    yield from _refused_settings(recording, caught)
    try:
        if not caught.is_to_kafka:
            yield _of_sink(bench, recording, caught)
        if recording.topics and not recording.other_sources:
            with query_of_job(bench, recording, number, options.samples) as query:
                query.trial.forget()
                yield from checked(query, options, say)
    except TimeoutError as error:
        yield _of_job(UNCHECKED, f"{runner.CANNOT} to the end: {error}", "run prove again", recording, caught.line)
    except TargetError:
        raise
    except REFUSALS as error:
        yield refused(error, recording.path, caught.line)


def _refused_settings(recording: Recording, caught: Caught) -> Iterator[Verdict]:
    if not caught.is_real_time:
        own = caught.trigger or "the default"
        evidence = f"the job's trigger is {own}, so it runs in micro-batch mode; the remaining checks use realTime"
        yield _of_job(WRONG, evidence, 'write .trigger(realTime="5 minutes")', recording, caught.line)
    if caught.output_mode.lower() != "update":
        evidence = (
            f"real-time mode does not support the output mode {caught.output_mode!r}; the remaining checks run "
            "the query in update mode"
        )
        yield _of_job(WRONG, evidence, 'write .outputMode("update")', recording, caught.line)


def _is_deliberate(recording: Recording, caught: Caught) -> bool:
    has_real_time = any(other.is_real_time for other in recording.caught)
    return has_real_time and not caught.is_real_time and (bool(caught.trigger) or not caught.is_to_kafka)


def _of_sink(bench: Bench, recording: Recording, caught: Caught) -> Verdict:
    try:
        query = caught.writer.really_start(f"file:{new_checkpoints(bench.folder)}")
        try:
            assert_real_time(query, 30)
        finally:
            query.stop()
    except (PySparkException, Py4JJavaError, QueryFailedError) as error:
        if any(condition in str(error) for condition in NO_CONNECTOR):
            evidence = (
                f"real-time mode on OSS does not support the job's sink {caught.sink!r}: it is not in the allowlist"
            )
            fix = f"use {SINKS}; the connector is not installed here, and the remaining checks write to Kafka"
            return replace(_of_job(WRONG, evidence, fix, recording, caught.line), page=SOURCES_PAGE)
        verdict = refused(error, recording.path, caught.line)
        is_file = "UNSUPPORTED_DATASOURCE" in verdict.evidence
        return replace(verdict, fix=f"use {SINKS}, and write files in a separate query") if is_file else verdict
    except (NotRealTimeError, TimeoutError) as error:
        return _of_job(UNCHECKED, f"the sink {caught.sink!r} does not run: {error}", "", recording, caught.line)
    evidence = f"real-time mode accepts the sink {caught.sink!r}; the remaining checks write its rows to Kafka as JSON"
    return Verdict("mode", GOOD, evidence, page=SOURCES_PAGE)


def _install(name: str) -> str:
    package = f"the package that contains the module {name!r}"
    return f"install {package} into the virtual environment of this skill, or set PYTHONPATH to its folder"


def stopped(error: Exception, recording: Recording) -> str:
    """Return why the code of a job ended before it waited for its queries, and what to do."""
    failure = failure_of(error, recording.path, recording.line_of(error))
    place = f"{recording.path}:{failure.line}" if failure.line else str(recording.path)
    fix = _fix(error, recording)
    kind = failure.condition if isinstance(error, PySparkException | Py4JJavaError) else type(error).__name__
    return f"{place}: {kind}: {failure.message}; {fix}, or prove the function that builds the query: FILE.py:FUNCTION"


def _fix(error: Exception, recording: Recording) -> str:
    if recording.other_sources:
        return f"prove cannot send records to the source {recording.other_sources[0][0]!r}: {FROM_KAFKA}"
    if found := next((fix for text, fix in BY_TEXT.items() if text in str(error)), ""):
        return found
    if isinstance(error, ModuleNotFoundError):
        return PIPELINE if error.name in {"dlt", "dp"} else _install(str(error.name))
    # An OSError without an error number comes from the job itself.
    is_own = type(error) is OSError and error.errno is None
    fix = SETTINGS if is_own else next((fix for kind, fix in BY_KIND.items() if isinstance(error, kind)), "")
    if recording.missing and not isinstance(error, OSError):
        names = ", ".join(map(repr, recording.missing))
        install = _install(next(iter(recording.missing)))
        return f"{fix}; prove replaced the modules {names} with placeholders: {install}"
    return fix


def _of_job(status: str, evidence: str, fix: str, recording: Recording, line: int) -> Verdict:
    return Verdict("mode", status, evidence, fix, PAGE, str(recording.path), line)
