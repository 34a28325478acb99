"""Call the function of a `foreach` or `foreachBatch` sink with rows from hostile records."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from spark_rtm.prove.checks.input import best_sample, listed
from spark_rtm.prove.engine import in_time
from spark_rtm.prove.job.recorders import FUNCTIONS, Caught
from spark_rtm.prove.job.runner import replaced
from spark_rtm.prove.query import Query, evaluated
from spark_rtm.prove.records.decoding import decoding
from spark_rtm.prove.records.hostile import hostile_records, too_large
from spark_rtm.prove.verdicts import GOOD, UNCHECKED, WRONG, Verdict
from spark_rtm.testing.records import Sent

PAGE = "references/prove.md#a-job-that-starts-its-queries"
LONG = 100_000
CALL_SECONDS = 60.0
MAX_MESSAGE = 120

Call = Callable[[Sequence[Sent]], Exception | None]
"""Calls the sink's function with the rows of some records, and returns the function's error."""


def function_of_sink(query: Query) -> Iterator[Verdict]:
    """Yield the verdicts on a query's sink function, if the sink has one."""
    caught, place = query.recording.caught[query.number], query.place
    if caught.sink not in FUNCTIONS:
        return
    what = f"the function of {caught.sink}"
    if not query.recording.job.side_effects:
        evidence = f"{what} never runs, because it may write to your servers"
        fix = "pass --side-effects to call the function with hostile rows, or test it with rows that it cannot parse"
        yield Verdict("input", UNCHECKED, evidence, fix, PAGE, str(place.path), place.line)
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
        yield Verdict("input", UNCHECKED, evidence, fix, PAGE, str(place.path), _line(query, error))
        return
    failing = defaultdict[tuple[str, int], list[tuple[str, Exception]]](list)
    for name, error in _failing(call, records):
        failing[type(error).__name__, _line(query, error)].append((name, error))
    for (_, line), found in failing.items():
        names, text = listed([name for name, _ in found]), _text(found[0][1])
        evidence = f"{what} fails for these kinds of record, also after each restart: {names} ({text})"
        fix = "catch the error for each row, and write the row with its error to a reject topic"
        yield Verdict("input", WRONG, evidence, fix, PAGE, str(place.path), line)
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
