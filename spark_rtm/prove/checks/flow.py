"""Send good records, and measure results, latency, the longest gap and the expected output."""

import json
from itertools import cycle, islice, pairwise
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.measure import percentiles
from spark_rtm.prove.query import Query, evaluated, failing
from spark_rtm.prove.records.plan import filters_of
from spark_rtm.prove.records.samples import read_samples
from spark_rtm.prove.verdicts import GOOD, Verdict
from spark_rtm.testing.trial import latencies_ms

PAGE = "references/latency.md"
WARM_UP_SECONDS = 2.0
MAX_FILTERS = 2


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
