"""Send good records, and measure results, latency, the longest gap and the expected output."""

import json
from itertools import cycle, islice, pairwise
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.measure.percentiles import percentiles
from spark_rtm.prove.subjects.filters import filters_of
from spark_rtm.prove.subjects.samples import read_samples
from spark_rtm.prove.subjects.subject import Subject
from spark_rtm.prove.verdicts.verdict import GOOD, UNCHECKED, WRONG, Verdict
from spark_rtm.testing.trial import latencies_ms

WARM_UP_SECONDS = 2.0
MAX_FILTERS = 2


def flow(subject: Subject, query: StreamingQuery, duration: float, rate: float) -> list[Verdict]:
    """Send the samples at `rate` for `duration` seconds, and return the verdict on the results."""
    predicted = subject.evaluate_all(subject.samples)
    failing = [
        record for record, result in zip(subject.samples, predicted, strict=True) if isinstance(result, Exception)
    ]
    if failing:
        text = (failing[0].value or b"null").decode(errors="replace")[:80]
        if subject.is_made:
            return [_verdict(subject, UNCHECKED, f"the generated record {text} makes the query fail", _fix(subject))]
        return [_verdict(subject, WRONG, f"the sample {text} makes the query fail", "correct it with --samples")]
    counts = [len(result) for result in predicted if not isinstance(result, Exception)]
    if not sum(counts):
        filters = " and ".join(filters_of(subject.trial.rows)[:MAX_FILTERS])
        cause = f"; the filter {filters} drops them" if filters else ""
        evidence = f"no result from {len(counts) + len(subject.others)} records{cause}"
        return [_verdict(subject, UNCHECKED, evidence, _fix(subject))]
    number = round(WARM_UP_SECONDS * rate), round((WARM_UP_SECONDS + duration) * rate)
    records = list(islice(cycle(subject.samples), number[1]))
    per_record = list(islice(cycle(counts), number[1]))
    sent_ms = subject.trial.send(records, rate=rate)
    subject.trial.wait_for_commit(query)
    outputs = subject.trial.received()
    found = latencies_ms(sent_ms, outputs, per_record)
    kept = found[sum(per_record[: number[0]]) :]
    is_stateful = bool(query.lastProgress and query.lastProgress.stateOperators)
    what = f"{len(records)} records in, {len(outputs)} out"
    if kept:
        p50, p99, longest = percentiles(kept, [0.5, 0.99, 1.0])
        gap = max((later - earlier for earlier, later in pairwise(o.appended_ms for o in outputs)), default=0)
        evidence = (
            f"{what}; p50 {p50} ms, p99 {p99} ms, longest {longest} ms; longest gap between two results, normally at a "
            f"batch boundary, {gap} ms ({len(kept)} results at {rate:g} records/s)"
        )
        return [_verdict(subject, GOOD, evidence)]
    if is_stateful and outputs:
        return [_verdict(subject, GOOD, f"{what}; latency not measured, because state merges records")]
    return [
        _verdict(
            subject,
            WRONG,
            f"{what}, but {sum(per_record)} were expected",
            "compare the function's results for these samples in a batch query",
        )
    ]


def expected_output(subject: Subject, query: StreamingQuery, path: Path) -> list[Verdict]:
    """
    Send each sample once, and compare the output with the expected records in any order.

    For an expected line without a key, only values are compared.
    """
    expected = read_samples(path)
    subject.trial.send(subject.samples)
    subject.trial.wait_for_commit(query)
    found = [(output.key, _normal(output.value)) for output in subject.trial.received()]
    missing = list[str]()
    for record in expected:
        value = _normal(record.value)
        match = next((o for o in found if o[1] == value and record.key in (None, o[0])), None)
        if match:
            found.remove(match)
        else:
            missing.append(value)
    if not missing and not found:
        return [Verdict("expect", GOOD, f"all {len(expected)} expected records were written, and no others")]
    first = f" (first: {missing[0][:80]})" if missing else ""
    surplus = f" (first: {found[0][1][:80]})" if found else ""
    evidence = f"{len(missing)} expected records are missing{first}; {len(found)} others were written{surplus}"
    return [Verdict("expect", WRONG, evidence, f"correct the job or {path}", path=str(subject.path), line=subject.line)]


def _normal(data: bytes | None) -> str:
    try:
        return json.dumps(json.loads(data or b""), sort_keys=True, separators=(",", ":"))
    except ValueError:
        return (data or b"").decode(errors="replace")


def _fix(subject: Subject) -> str:
    return f"pass records with --samples {subject.stream}=FILE.jsonl"


def _verdict(subject: Subject, status: str, evidence: str, fix: str = "") -> Verdict:
    line = subject.line if status == WRONG else 0
    return Verdict("flow", status, evidence, fix, "references/latency.md", str(subject.path) if line else "", line)
