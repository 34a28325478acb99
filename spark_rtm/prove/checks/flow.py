"""
Send good records, and measure results, latency, the longest gap and the expected output.

Call the function of a `foreach` or `foreachBatch` sink with rows from hostile records.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice, pairwise
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.measure import percentiles
from spark_rtm.prove.checks.input import best_sample, listed
from spark_rtm.prove.engine import in_time
from spark_rtm.prove.job.recorders import FUNCTIONS, Caught
from spark_rtm.prove.job.runner import replaced
from spark_rtm.prove.query import Query, evaluated, failing
from spark_rtm.prove.records.decoding import decoding
from spark_rtm.prove.records.hostile import hostile_records, too_large
from spark_rtm.prove.records.plan import filters_of
from spark_rtm.prove.records.samples import read_samples
from spark_rtm.prove.verdicts import GOOD, UNCHECKED, WRONG, Verdict
from spark_rtm.testing.records import Sent
from spark_rtm.testing.trial import latencies_ms

PAGE = "references/latency.md"
WARM_UP_SECONDS = 2.0
MAX_FILTERS = 2
FUNCTION_PAGE = "references/prove.md#a-job-that-starts-its-queries"
LONG = 100_000
CALL_SECONDS = 60.0
MAX_MESSAGE = 120

Call = Callable[[Sequence[Sent]], Exception | None]
"""Calls the sink's function with the rows of some records, and returns the function's error."""


def flow(query: Query, running: StreamingQuery, duration: float, rate: float) -> Verdict:
    """Send the samples at `rate` records/s for `duration` seconds, and return the verdict on the results."""
    if text := failing(query):
        if query.samples.is_made:
            return query.place.unchecked("flow", f"the generated record {text} makes the query fail", PAGE)
        return query.place.wrong("flow", f"the sample {text} makes the query fail", "correct --samples", PAGE)
    results = (result for _, result in evaluated(query, query.samples.records))
    counts = [len(result) for result in results if isinstance(result, list)]
    if not sum(counts):
        filters = " and ".join(filters_of(query.trial.rows)[:MAX_FILTERS])
        tried = len(counts) + len(query.samples.others)
        cause = f"; the filter {filters} drops them" if filters else ""
        return query.place.unchecked("flow", f"{tried} records produced no result{cause}", PAGE)
    warm_up, number = round(WARM_UP_SECONDS * rate), round((WARM_UP_SECONDS + duration) * rate)
    per_record = list(islice(cycle(counts), number))
    sent_ms = query.trial.send(islice(cycle(query.samples.records), number), rate=rate)
    query.trial.wait_for_commit(running)
    outputs = query.trial.received()
    kept = latencies_ms(sent_ms, outputs, per_record)[sum(per_record[:warm_up]) :]
    what = f"{number} records in, {len(outputs)} out"
    if kept:
        p50, p99, longest = percentiles(kept, [0.5, 0.99, 1.0])
        gap = max((later - earlier for earlier, later in pairwise(o.appended_ms for o in outputs)), default=0)
        evidence = (
            f"{what}; p50 {p50} ms, p99 {p99} ms, longest {longest} ms; longest gap between two results, normally at a "
            f"batch boundary, {gap} ms ({len(kept)} results at {rate:g} records/s)"
        )
        return Verdict("flow", GOOD, evidence, page=PAGE)
    if outputs and running.lastProgress and running.lastProgress.stateOperators:
        evidence = f"{what}; latency was not measured, because one result can combine several records"
        return Verdict("flow", GOOD, evidence, page=PAGE)
    fix = "compare the function's results for these samples in a batch query"
    return query.place.wrong("flow", f"{what}, but {sum(per_record)} were expected", fix, PAGE)


def expected_output(query: Query, running: StreamingQuery, path: Path) -> Verdict:
    """
    Send each sample once, and compare the output with the expected records in any order.

    If an expected line has no key, only values are compared.
    """
    expected = read_samples(path)
    query.trial.send(query.samples.records)
    query.trial.wait_for_commit(running)
    found = [(output.key, _normal(output.value)) for output in query.trial.received()]
    missing = list[str]()
    for record in expected:
        value = _normal(record.value)
        match = next((o for o in found if o[1] == value and record.key in (None, o[0])), None)
        if match:
            found.remove(match)
        else:
            missing.append(value)
    if not missing and not found:
        return Verdict("expect", GOOD, f"exactly the {len(expected)} expected records were written")
    first = f" (first: {missing[0][:80]})" if missing else ""
    surplus = f" (first: {found[0][1][:80]})" if found else ""
    evidence = f"{len(missing)} expected records are missing{first}; {len(found)} unexpected ones were written{surplus}"
    return query.place.wrong("expect", evidence, f"correct the job or {path}")


def _normal(data: bytes | None) -> str:
    try:
        return json.dumps(json.loads(data or b""), sort_keys=True, separators=(",", ":"))
    except ValueError:
        return (data or b"").decode(errors="replace")


def function_of_sink(query: Query) -> Iterator[Verdict]:
    """Yield the verdicts on a query's sink function, if the sink has one."""
    caught, place = query.recording.caught[query.number], query.place
    if caught.sink not in FUNCTIONS:
        return
    what = f"the function of {caught.sink}"
    if not query.recording.job.side_effects:
        evidence = f"{what} never runs, because it may write to your servers"
        fix = "pass --side-effects to call the function with hostile rows, or test it with rows that it cannot parse"
        yield Verdict("input", UNCHECKED, evidence, fix, FUNCTION_PAGE, str(place.path), place.line)
        return
    sample = best_sample(query)
    kinds = {**hostile_records(sample, decoding(query.trial.rows)), **too_large(sample, LONG)}
    # A failing expression ends the query before the function is called.
    results = zip(kinds, evaluated(query, [kind.record for kind in kinds.values()]), strict=True)
    records = [(name, record) for name, (record, result) in results if result and isinstance(result, list)]
    call = _call(query)
    if error := call([sample]):
        evidence = f"{what} fails even for a good record: {_text(error)}"
        fix = "start the servers that the function calls, or pass records with --samples"
        yield Verdict("input", UNCHECKED, evidence, fix, FUNCTION_PAGE, str(place.path), _line(query, error))
        return
    failing = defaultdict[tuple[str, int], list[tuple[str, Exception]]](list)
    for name, error in _failing(call, records):
        failing[type(error).__name__, _line(query, error)].append((name, error))
    for (_, line), found in failing.items():
        names, text = listed([name for name, _ in found]), _text(found[0][1])
        evidence = f"{what} fails for these kinds of record, also after each restart: {names} ({text})"
        fix = "catch the error for each row, and write the row with its error to a reject topic"
        yield Verdict("input", WRONG, evidence, fix, FUNCTION_PAGE, str(place.path), line)
    if not failing:
        yield Verdict("input", GOOD, f"{what} returns for the rows of all {len(records)} kinds of hostile record")


def _call(query: Query) -> Call:
    def call(records: Sequence[Sent]) -> Exception | None:
        query.rows_of(list(records))
        static = query.recording.on_static
        if static is None:
            raise AssertionError("internal error: the job did not run on static rows")
        caught = static.caught[query.number]
        try:
            with replaced(static):
                in_time(caught.frame, lambda: _run(caught), CALL_SECONDS)
        except Exception as error:  # noqa: BLE001 - the function may raise any error
            return error
        return None

    return call


def _run(caught: Caught) -> None:
    """Call the function with a DataFrame or with each row, as the sink would."""
    # A new DataFrame is needed, because Spark reads the topic again only for a new plan.
    rows, function = caught.frame.select("*"), caught.writer.function
    if caught.sink == "foreachBatch":
        function(rows, 0)
        return
    process = getattr(function, "process", function)
    if hasattr(function, "open"):
        function.open(0, 0)
    for row in rows.collect():
        process(row)
    if hasattr(function, "close"):
        function.close(None)


def _failing(call: Call, records: Sequence[tuple[str, Sent]]) -> Iterator[tuple[str, Exception]]:
    """Find the records for which the function fails by bisection."""
    error = call([record for _, record in records]) if records else None
    if error and len(records) == 1:
        yield records[0][0], error
    elif error:
        half = len(records) // 2
        yield from _failing(call, records[:half])
        yield from _failing(call, records[half:])


def _line(query: Query, error: Exception) -> int:
    return query.recording.line_of(error) or query.place.line


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:MAX_MESSAGE]
